//! Writes types of signatures as text.

use super::NameError;
use super::generic::Arguments;
use super::modules::Modules;
use super::signature::SignatureHead;
use super::spelling::{Spelling, element};
use crate::bytes::Cursor;
use crate::metadata::{Metadata, Token};
use crate::{Error, ErrorKind};

/// How deep types may be nested: in signatures, and inside one another.
const DEEPEST: u32 = 64;

/// Types in one name. Compilers stay far below; types that refer to each other could go on and on.
const MOST_TYPES: u32 = 4096;

/// Bytes of a name.
const LONGEST: usize = 1 << 16;

/// Whose metadata the tokens of a type mean.
#[derive(Clone, Copy, Debug)]
pub(super) struct Here<'m, 'd> {
    /// The module that type arguments are in, whatever module their generic type is in.
    outer: Option<&'m Metadata<'d>>,
    /// The module that the next token is in.
    current: Option<&'m Metadata<'d>>,
}

impl<'m, 'd> Here<'m, 'd> {
    pub(super) const fn new(module: Option<&'m Metadata<'d>>) -> Self {
        Self { outer: module, current: module }
    }
}

/// What the type variables of a method or its owner stand for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variables<'m, 'd> {
    /// What they were replaced by, and in which module that is.
    pub(super) arguments: Option<(Arguments<'d>, Here<'m, 'd>)>,
    /// The type or method that declares them, for their names.
    pub(super) declared: Option<(&'m Metadata<'d>, Token)>,
}

/// Text that grows by types.
pub(super) struct Writer<'m, 'a, 'd> {
    pub(super) text: String,
    pub(super) spelling: Spelling,
    modules: &'m Modules<'a, 'd>,
    /// The variables of the type and of the method, when they are to be written as more than numbers.
    variables: Option<[Variables<'m, 'd>; 2]>,
    types: u32,
}

impl<'m, 'a, 'd> Writer<'m, 'a, 'd> {
    pub(super) fn new(spelling: Spelling, modules: &'m Modules<'a, 'd>) -> Self {
        Self { text: String::new(), spelling, modules, variables: None, types: 0 }
    }

    /// From here on, variables are replaced or named.
    pub(super) fn with_variables(&mut self, of_type: Variables<'m, 'd>, of_method: Variables<'m, 'd>) {
        self.variables = Some([of_type, of_method]);
    }

    /// Writes the type whose signature begins at the cursor.
    pub(super) fn write_type(&mut self, cursor: &mut Cursor<'d>, here: Here<'_, 'd>) -> Result<(), NameError> {
        self.nested(cursor, here, 0)
    }

    /// Writes so many types with `between` between them.
    pub(super) fn write_types(
        &mut self,
        cursor: &mut Cursor<'d>,
        count: u32,
        between: &str,
        here: Here<'_, 'd>,
    ) -> Result<(), NameError> {
        self.list(cursor, count, between, here, 0)
    }

    /// Writes the name of the type that a row stands for.
    pub(super) fn write_token(&mut self, token: Token, module: &Metadata<'d>) -> Result<(), NameError> {
        self.token(token, Some(module), 0)
    }

    fn list(
        &mut self,
        cursor: &mut Cursor<'d>,
        count: u32,
        between: &str,
        here: Here<'_, 'd>,
        depth: u32,
    ) -> Result<(), NameError> {
        for index in 0..count {
            if index > 0 {
                self.text.push_str(between);
            }
            self.nested(cursor, here, depth)?;
        }
        Ok(())
    }

    pub(super) fn count_one(&mut self, depth: u32) -> Result<(), NameError> {
        self.types = self.types.saturating_add(1);
        if self.types > MOST_TYPES || self.text.len() > LONGEST {
            return Err(NameError::TooLong);
        }
        if depth > DEEPEST {
            return Err(Error { kind: ErrorKind::TooDeep { what: "type" }, offset: 0 }.into());
        }
        Ok(())
    }

    pub(super) fn nested(&mut self, cursor: &mut Cursor<'d>, here: Here<'_, 'd>, depth: u32) -> Result<(), NameError> {
        self.count_one(depth)?;
        let deeper = depth.saturating_add(1);
        let start = *cursor;
        let element = cursor.u8()? & element::MASK;
        if let Some(word) = self.spelling.primitive(element) {
            self.text.push_str(word);
            return Ok(());
        }
        match element {
            element::VALUE_TYPE | element::CLASS => {
                let token = type_token(cursor)?;
                self.text.push_str(self.spelling.kind(element));
                self.token(token, here.current, deeper)
            }
            element::GENERIC_INSTANCE => self.generic_instance(cursor, here, deeper),
            element::POINTER => self.followed_by(cursor, "*", here, deeper),
            element::REFERENCE => self.followed_by(cursor, "&", here, deeper),
            element::VECTOR => self.followed_by(cursor, "[]", here, deeper),
            element::ARRAY => self.array(cursor, here, deeper),
            element::TYPE_VARIABLE | element::METHOD_VARIABLE => self.variable(cursor, element, deeper),
            element::FUNCTION_POINTER => self.function_pointer(cursor, here, deeper),
            element::REQUIRED_MODIFIER | element::OPTIONAL_MODIFIER => self.modified(cursor, element, here, deeper),
            element::OTHER_MODULE => self.other_module(cursor, here, deeper),
            element::PINNED | element::NATIVE_VALUE_TYPE => self.nested(cursor, here, deeper),
            element::SENTINEL => {
                self.text.push_str("...,");
                self.nested(cursor, here, deeper)
            }
            _ => Err(start.error(ErrorKind::Impossible { what: "element of a type", value: element.into() }).into()),
        }
    }

    fn followed_by(
        &mut self,
        cursor: &mut Cursor<'d>,
        mark: &str,
        here: Here<'_, 'd>,
        depth: u32,
    ) -> Result<(), NameError> {
        self.nested(cursor, here, depth)?;
        self.text.push_str(mark);
        Ok(())
    }

    fn generic_instance(&mut self, cursor: &mut Cursor<'d>, here: Here<'_, 'd>, depth: u32) -> Result<(), NameError> {
        self.nested(cursor, here, depth)?;
        let count = cursor.compressed()?;
        let [open, between, close] = self.spelling.argument_marks();
        self.text.push_str(open);
        self.list(cursor, count, between, Here { current: here.outer, ..here }, depth)?;
        self.text.push_str(close);
        Ok(())
    }

    /// An array that has a rank: its sizes and lower bounds are no part of a name.
    fn array(&mut self, cursor: &mut Cursor<'d>, here: Here<'_, 'd>, depth: u32) -> Result<(), NameError> {
        self.nested(cursor, here, depth)?;
        let rank_place = *cursor;
        let rank = cursor.compressed()?;
        // The runtime allows 32 dimensions.
        if rank == 0 || rank > 32 {
            return Err(rank_place
                .error(ErrorKind::Impossible { what: "rank of an array", value: rank.into() })
                .into());
        }
        for _sizes_then_lower_bounds in 0..2 {
            let count_place = *cursor;
            let count = cursor.compressed()?;
            if count > rank {
                let impossible = ErrorKind::Impossible { what: "number of array bounds", value: count.into() };
                return Err(count_place.error(impossible).into());
            }
            (0..count).try_for_each(|_| cursor.compressed().map(drop))?;
        }
        self.text.push('[');
        if rank == 1 && self.spelling.is_full() {
            self.text.push('*');
        }
        (1..rank).for_each(|_| self.text.push(','));
        self.text.push(']');
        Ok(())
    }

    fn variable(&mut self, cursor: &mut Cursor<'d>, element: u8, depth: u32) -> Result<(), NameError> {
        let number = cursor.compressed()?;
        let is_of_type = element == element::TYPE_VARIABLE;
        let Some([of_type, of_method]) = self.variables else {
            self.numbered(is_of_type, number);
            return Ok(());
        };
        let variables = if is_of_type { of_type } else { of_method };
        if let Some((arguments, here)) = variables.arguments
            && let Some(mut argument) = arguments.get(number)
        {
            // Those in front of it were passed over.
            self.types = self.types.saturating_add(number);
            // Variables inside an argument are not those that the argument is put in for.
            let outside = self.variables.take();
            self.nested(&mut argument, here, depth)?;
            self.variables = outside;
            return Ok(());
        }
        match variables.declared.and_then(|(module, owner)| module.type_variable(owner, number)) {
            Some(name) => {
                self.text.push_str(if is_of_type { "!" } else { "!!" });
                self.text.push_str(name);
            }
            None => self.numbered(is_of_type, number),
        }
        Ok(())
    }

    fn numbered(&mut self, is_of_type: bool, number: u32) {
        self.text.push_str(if is_of_type { "!" } else { "!!" });
        self.text.push_str(&number.to_string());
    }

    fn function_pointer(&mut self, cursor: &mut Cursor<'d>, here: Here<'_, 'd>, depth: u32) -> Result<(), NameError> {
        let head = SignatureHead::parse(cursor)?;
        let [before, open, between] = match self.spelling {
            Spelling::Full => ["", "(", ","],
            Spelling::Map => ["", " (", ", "],
            Spelling::Runtime => ["method ", " *(", ","],
            Spelling::Event => ["fnptr ", "(", ","],
        };
        self.text.push_str(before);
        if !self.spelling.is_full() {
            self.write_convention(&head);
        }
        self.nested(cursor, here, depth)?;
        self.text.push_str(open);
        self.list(cursor, head.parameters, between, here, depth)?;
        self.text.push(')');
        Ok(())
    }

    fn modified(
        &mut self,
        cursor: &mut Cursor<'d>,
        element: u8,
        here: Here<'_, 'd>,
        depth: u32,
    ) -> Result<(), NameError> {
        let modifier = type_token(cursor)?;
        let is_required = element == element::REQUIRED_MODIFIER;
        match self.spelling {
            Spelling::Full | Spelling::Map => self.nested(cursor, here, depth),
            Spelling::Runtime => {
                self.nested(cursor, here, depth)?;
                self.text.push_str(if is_required { " modreq(" } else { " modopt(" });
                self.token(modifier, here.current, depth)?;
                self.text.push(')');
                Ok(())
            }
            Spelling::Event => {
                self.text.push_str(if is_required { "required_modifier " } else { "optional_modifier " });
                self.token(modifier, here.current, depth)?;
                self.text.push(' ');
                self.nested(cursor, here, depth)
            }
        }
    }

    /// A type of another module; where two modules are meant, the one whose tokens there are.
    fn other_module(&mut self, cursor: &mut Cursor<'d>, here: Here<'_, 'd>, depth: u32) -> Result<(), NameError> {
        let [likely, other] = self.modules.of_index(cursor.compressed()?);
        let (place, length) = (*cursor, self.text.len());
        let written =
            likely.and_then(|module| self.nested(cursor, Here { outer: here.outer, current: Some(&module) }, depth));
        match (written, other) {
            (Err(_), Ok(module)) => {
                *cursor = place;
                self.text.truncate(length);
                self.nested(cursor, Here { outer: here.outer, current: Some(&module) }, depth)
            }
            (written, _) => written,
        }
    }
}

fn type_token(cursor: &mut Cursor<'_>) -> Result<Token, Error> {
    let start = *cursor;
    let encoded = cursor.compressed()?;
    Metadata::type_token(encoded)
        .ok_or_else(|| start.error(ErrorKind::Impossible { what: "type token", value: encoded.into() }))
}
