//! The integer encodings of .NET images.

/// An unsigned integer of ReadyToRun's "native format", in as few bytes as it needs.
pub fn native(value: u32) -> Vec<u8> {
    let length = match value {
        0..0x80 => 1,
        0x80..0x4000 => 2,
        0x4000..0x20_0000 => 3,
        0x20_0000..0x1000_0000 => 4,
        _ => 5,
    };
    native_of_length(value, length)
}

/// A signed integer of ReadyToRun's "native format", in as few bytes as it needs.
pub fn native_signed(value: i32) -> Vec<u8> {
    let fits = |bits: u32| value << (32 - bits) >> (32 - bits) == value;
    let length = [7, 14, 21, 28].iter().position(|bits| fits(*bits)).unwrap_or(4) + 1;
    native_of_length(value as u32, length)
}

/// An integer of ReadyToRun's "native format" in the form of `length` bytes (1 to 5), whatever it needs; a shorter form keeps
/// the low bits.
pub fn native_of_length(value: u32, length: usize) -> Vec<u8> {
    if length == 5 {
        return [&[0x0f], &value.to_le_bytes()[..]].concat();
    }
    let marks = (1 << (length - 1)) - 1;
    (value << length | marks).to_le_bytes()[..length].to_vec()
}

/// The compressed unsigned integer of ECMA-335 II.23.2, for values below 2^29.
pub fn compressed(value: u32) -> Vec<u8> {
    match value {
        0..0x80 => vec![value as u8],
        0x80..0x4000 => (value as u16 | 0x8000).to_be_bytes().to_vec(),
        _ => (value | 0xc000_0000).to_be_bytes().to_vec(),
    }
}

/// Numbers as nibbles of three bits and a continuation bit, filled up to a whole byte.
pub fn nibbles(numbers: &[u32]) -> Vec<u8> {
    let mut halves = Vec::new();
    for number in numbers {
        let groups = (32 - number.leading_zeros()).div_ceil(3).max(1);
        for group in (0..groups).rev() {
            let more = if group == 0 { 0 } else { 8 };
            halves.push((number >> (group * 3) & 7) as u8 | more);
        }
    }
    halves.chunks(2).map(|pair| pair[0] | pair.get(1).unwrap_or(&0) << 4).collect()
}

/// A string as .NET's `BinaryWriter` has it: length in 7-bit groups, then UTF-8.
pub fn counted_text(text: &str) -> Vec<u8> {
    [&crate::nettrace::leb128(text.len() as u64), text.as_bytes()].concat()
}

/// Numbers of so many bits each, packed from the low bits of each byte up.
pub fn packed(numbers: &[(u64, u32)]) -> Vec<u8> {
    let bits = numbers.iter().flat_map(|(number, width)| (0..*width).map(move |bit| (number >> bit & 1) as u8));
    let bits: Vec<u8> = bits.collect();
    bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |value, bit| value << 1 | bit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_format() {
        assert_eq!(native(135_318), [0xb3, 0x84, 0x10]);
        assert_eq!(native(0x18af), [0xbd, 0x62]);
        assert_eq!(native(12), [0x18]);
        assert_eq!(native(u32::MAX), [0x0f, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(native_signed(-1), [0xfe]);
        assert_eq!(native_signed(64), [0x01, 0x01]);
        assert_eq!(native_of_length(12, 2), [0x31, 0]);
        assert_eq!(compressed(0x2508), [0xa5, 0x08]);
        assert_eq!(compressed(0x8373), [0xc0, 0, 0x83, 0x73]);
        assert_eq!(nibbles(&[5, 538, 1, 0, 0]), [0x95, 0xb8, 0x12, 0x00]);
        assert_eq!(packed(&[(1, 2), (5, 3), (0x1ff, 9)]), [0b1111_0101, 0b11_1111]);
    }
}
