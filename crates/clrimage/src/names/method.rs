//! A method's name, before it is written.

use super::NameError;
use super::generic::Arguments;
use super::modules::Modules;
use super::signature::SignatureHead;
use super::spelling::{Spelling, element};
use super::writer::{Here, Variables, Writer};
use crate::bytes::Cursor;
use crate::metadata::{Metadata, Table, Token};
use crate::r2r::{InstanceSignature, MethodToken};

/// What a method is called: found, but not yet written, since each user wants another spelling.
#[derive(Clone, Debug)]
pub struct MethodName<'a, 'd> {
    modules: Modules<'a, 'd>,
    /// The module that the method's row is in.
    module: Metadata<'d>,
    owner: Owner<'d>,
    /// The row, when it is one of MethodDef.
    definition: Option<u32>,
    name: &'d str,
    signature: &'d [u8],
    instance: Option<InstanceSignature<'d>>,
}

#[derive(Clone, Copy, Debug)]
enum Owner<'d> {
    /// A row of the method's module; 0 in MemberRef for functions outside all types.
    Row(Token),
    /// A signature in the image's terms.
    Signature(&'d [u8]),
}

/// The three texts with which the runtime's events name a method (`MethodLoadVerbose`, `MethodDCEndVerbose`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventName {
    /// Namespace and type, such as ``System.Collections.Generic.List`1[System.__Canon]``.
    pub namespace: String,
    /// The method's own name.
    pub name: String,
    /// Return and parameter types, such as `instance void  (!0)`: two spaces, and variables by number.
    pub signature: String,
}

/// What code does around or instead of the method that it is named for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// It unboxes the receiver, then runs the method.
    UnboxingStub,
    /// It passes type arguments on to shared code.
    InstantiatingStub,
    /// It is the form of the method that the runtime can suspend.
    AsyncVariant,
    /// It runs that form and drops its result.
    ReturnDroppingAsyncThunk,
}

impl Mark {
    /// Words for lists, such as `unboxing stub`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::UnboxingStub => "unboxing stub",
            Self::InstantiatingStub => "instantiating stub",
            Self::AsyncVariant => "async variant",
            Self::ReturnDroppingAsyncThunk => "return-dropping async thunk",
        }
    }
}

impl<'a, 'd> MethodName<'a, 'd> {
    /// The name of the method in a row of MethodDef of an image's component.
    pub(super) fn of_definition(modules: &Modules<'a, 'd>, component: u32, rid: u32) -> Result<Self, NameError> {
        let module = modules.component(component)?;
        let found = module.method(rid)?;
        let owner = Owner::Row(Token { table: Table::TYPE_DEF, rid: module.owner_of_method(rid)? });
        Ok(Self {
            modules: *modules,
            module,
            owner,
            definition: Some(rid),
            name: found.name,
            signature: found.signature,
            instance: None,
        })
    }

    /// The name of the method of an instance.
    pub(super) fn of_instance(modules: &Modules<'a, 'd>, instance: &InstanceSignature<'d>) -> Result<Self, NameError> {
        let [likely, other] = modules_of_method(modules, instance)?;
        let made = likely.and_then(|module| Self::in_module(modules, module, instance));
        match (made, other) {
            (Err(_), Ok(module)) => Self::in_module(modules, module, instance),
            (made, _) => made,
        }
    }

    fn in_module(
        modules: &Modules<'a, 'd>,
        module: Metadata<'d>,
        instance: &InstanceSignature<'d>,
    ) -> Result<Self, NameError> {
        let (row_owner, definition, name, signature) = match instance.method {
            MethodToken::Definition(rid) => {
                let found = module.method(rid)?;
                let owner = match instance.owner {
                    // Its signature says it already.
                    Some(_) => 0,
                    None => module.owner_of_method(rid)?,
                };
                (Token { table: Table::TYPE_DEF, rid: owner }, Some(rid), found.name, found.signature)
            }
            MethodToken::Reference(rid) => {
                let found = module.member_reference(rid)?;
                (found.parent, None, found.name, found.signature)
            }
        };
        let owner = instance.owner.map_or(Owner::Row(row_owner), Owner::Signature);
        Ok(Self { modules: *modules, module, owner, definition, name, signature, instance: Some(*instance) })
    }

    /// The method's own name.
    pub const fn name(&self) -> &'d str {
        self.name
    }

    /// The token of the method's row in its module, where that is one of MethodDef.
    pub fn token(&self) -> Option<u32> {
        self.definition.map(|rid| MethodToken::Definition(rid).value())
    }

    /// The metadata of the module that the method's row is in.
    pub const fn module(&self) -> &Metadata<'d> {
        &self.module
    }

    /// What the code is, besides the method itself.
    pub fn marks(&self) -> impl Iterator<Item = Mark> + use<> {
        let flags = self.instance.map_or(0, |instance| instance.flags);
        [
            (0x1, Mark::UnboxingStub),
            (0x2, Mark::InstantiatingStub),
            (0x100, Mark::AsyncVariant),
            (0x200, Mark::ReturnDroppingAsyncThunk),
        ]
        .into_iter()
        .filter(move |(flag, _)| flags & flag != 0)
        .map(|(_, mark)| mark)
    }

    /// The name as perf maps and jitdumps have it, without the tier:
    /// ``instance void [System.Private.CoreLib] System.Collections.Generic.List`1[System.__Canon]::Add(!0)``.
    ///
    /// # Errors
    /// Metadata or a signature on the way is damaged, or another assembly's metadata is needed and not at hand.
    pub fn runtime_style(&self) -> Result<String, NameError> {
        let here = Here::new(Some(&self.module));
        let mut writer = Writer::new(Spelling::Runtime, &self.modules);
        let (head, mut types) = self.head()?;
        writer.write_convention(&head);
        writer.write_type(&mut types, here)?;
        writer.text.push_str(" [");
        writer.text.push_str(self.module.assembly_name().or_else(|| self.module.module_name()).unwrap_or_default());
        writer.text.push_str("] ");
        self.write_owner(&mut writer, Spelling::Full)?;
        writer.text.push_str("::");
        writer.text.push_str(self.name);
        writer.spelling = Spelling::Runtime;
        writer.text.push('(');
        writer.write_types(&mut types, head.parameters, ",", here)?;
        writer.text.push(')');
        Ok(writer.text)
    }

    /// The name as the runtime's events have it.
    ///
    /// # Errors
    /// As for [`MethodName::runtime_style`].
    pub fn event_style(&self) -> Result<EventName, NameError> {
        let here = Here::new(Some(&self.module));
        let mut writer = Writer::new(Spelling::Full, &self.modules);
        self.write_owner(&mut writer, Spelling::Full)?;
        let namespace = std::mem::take(&mut writer.text);
        writer.spelling = Spelling::Event;
        let (head, mut types) = self.head()?;
        writer.write_convention(&head);
        writer.write_type(&mut types, here)?;
        writer.text.push_str("  (");
        writer.write_types(&mut types, head.parameters, ",", here)?;
        writer.text.push(')');
        Ok(EventName { namespace, name: self.name.to_owned(), signature: writer.text })
    }

    /// The name as crossgen2's maps (`--perfmap`) have it: full type names, and variables replaced where that is known.
    ///
    /// # Errors
    /// As for [`MethodName::runtime_style`].
    pub fn map_style(&self) -> Result<String, NameError> {
        let here = Here::new(Some(&self.module));
        let mut writer = Writer::new(Spelling::Map, &self.modules);
        let (head, mut types) = self.head()?;
        let returns = types;
        let (of_type, of_method) = self.variables()?;
        writer.with_variables(of_type, of_method);
        writer.write_type(&mut types, here)?;
        if returns.rest().first() == Some(&1) {
            writer.text.clear();
        } else {
            writer.text.push(' ');
        }
        self.write_owner(&mut writer, Spelling::Map)?;
        writer.text.push_str("::");
        writer.text.push_str(self.name);
        writer.text.push('(');
        writer.write_types(&mut types, head.parameters, ", ", here)?;
        writer.text.push(')');
        Ok(writer.text)
    }

    /// The full names of the method's own type arguments, such as `System.Char`; empty when it has none. No style of the
    /// name has them.
    ///
    /// # Errors
    /// As for [`MethodName::runtime_style`].
    pub fn type_arguments(&self) -> Result<Vec<String>, NameError> {
        let Some((count, types)) = self.instance.and_then(|instance| instance.arguments) else { return Ok(Vec::new()) };
        let mut cursor = Cursor::new(types, "type arguments");
        // One writer for all, as they are not to be longer together than a name is.
        let mut writer = Writer::new(Spelling::Full, &self.modules);
        let mut arguments = Vec::new();
        for _ in 0..count {
            let start = writer.text.len();
            writer.write_type(&mut cursor, Here::new(self.modules.own()))?;
            arguments.push(writer.text.get(start..).unwrap_or_default().to_owned());
        }
        Ok(arguments)
    }

    fn head(&self) -> Result<(SignatureHead, Cursor<'d>), NameError> {
        let mut cursor = Cursor::new(self.signature, "method signature");
        let head = SignatureHead::parse(&mut cursor)?;
        Ok((head, cursor))
    }

    /// Where the owner's signature is to be read: in the module that was given for the method, else in the image's own.
    fn owner_here(&self) -> Here<'_, 'd> {
        let is_given = self.instance.is_some_and(|instance| instance.module.is_some());
        Here::new(if is_given { Some(&self.module) } else { self.modules.own() })
    }

    fn write_owner(&self, writer: &mut Writer<'_, 'a, 'd>, spelling: Spelling) -> Result<(), NameError> {
        writer.spelling = spelling;
        match self.owner {
            Owner::Row(Token { table: Table::METHOD_DEF | Table::MODULE_REF, .. }) => Ok(()),
            Owner::Row(token) => writer.write_token(token, &self.module),
            Owner::Signature(signature) => {
                writer.write_type(&mut Cursor::new(signature, "owner's signature"), self.owner_here())
            }
        }
    }

    /// The variables of the owner and of the method.
    fn variables(&self) -> Result<(Variables<'_, 'd>, Variables<'_, 'd>), NameError> {
        let of_type = match self.owner {
            Owner::Signature(signature) => {
                Arguments::of_type(signature)?.map(|arguments| (arguments, self.owner_here()))
            }
            Owner::Row(_) => None,
        };
        let of_method = self
            .instance
            .and_then(|instance| instance.arguments)
            .map(|(count, types)| (Arguments { count, types }, Here::new(self.modules.own())));
        let definition = self.definition.map(|rid| (&self.module, Token { table: Table::METHOD_DEF, rid }));
        let owner = self
            .definition
            .and_then(|rid| self.module.owner_of_method(rid).ok())
            .map(|rid| (&self.module, Token { table: Table::TYPE_DEF, rid }));
        Ok((
            Variables { arguments: of_type, declared: owner },
            Variables { arguments: of_method, declared: definition },
        ))
    }
}

/// The modules that an instance's method can be in.
fn modules_of_method<'d>(
    modules: &Modules<'_, 'd>,
    instance: &InstanceSignature<'d>,
) -> Result<[Result<Metadata<'d>, NameError>; 2], NameError> {
    if let Some(index) = instance.module {
        return Ok(modules.of_index(index));
    }
    let mut cursor = Cursor::new(instance.owner.unwrap_or_default(), "owner's signature");
    let mut element = if instance.owner.is_some() { Some(cursor.u8()? & element::MASK) } else { None };
    if element == Some(element::GENERIC_INSTANCE) {
        element = Some(cursor.u8()? & element::MASK);
    }
    if element == Some(element::OTHER_MODULE) {
        return Ok(modules.of_index(cursor.compressed()?));
    }
    let is_primitive = element.is_some_and(|element| Spelling::Full.primitive(element).is_some());
    let none = NameError::NoModule { index: 0 };
    let own = match modules.own() {
        None if is_primitive => modules.core_library(),
        own => own.copied().ok_or(none.clone()),
    };
    Ok([own, Err(none)])
}
