//! What one field of an input must look like, compiled from its schema.
//!
//! Only what our own types can declare is understood; a schema beyond that (unions of objects, nested items) is left
//! to the typed reader. A number is never taken for text: a client that sends one meant something else.

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::scalar::{approximate, boolean, real, whole};

/// A failed check: a stable word for the rule, and what is wrong.
pub(super) type Broken = (&'static str, String);

/// The compiled schema of one field.
#[derive(Debug)]
pub(super) struct Rule {
    kind: Kind,
    bounds: Bounds,
}

#[derive(Debug)]
enum Kind {
    Any,
    Boolean,
    Integer { lowest: i128, highest: i128 },
    Number,
    Text,
    Choice(Vec<String>),
    List,
    Object,
}

#[derive(Debug, Default)]
struct Bounds {
    minimum: Option<f64>,
    maximum: Option<f64>,
    exclusive_minimum: Option<f64>,
    exclusive_maximum: Option<f64>,
    least: Option<usize>,
    most: Option<usize>,
    pattern: Option<Regex>,
}

/// How many references one schema may pass through: more is a cycle.
const REFERENCE_DEPTH: usize = 16;

/// Follows references; keywords beside a reference win over those it leads to.
pub(super) fn resolve(schema: &Value, definitions: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = schema.as_object().cloned().unwrap_or_default();
    for _ in 0..REFERENCE_DEPTH {
        let Some(Value::String(reference)) = merged.remove("$ref") else {
            break;
        };
        let name = reference.rsplit('/').next().unwrap_or_default();
        let target = definitions.get(name).and_then(Value::as_object);
        for (key, value) in target.into_iter().flatten() {
            merged.entry(key).or_insert_with(|| value.clone());
        }
    }
    merged
}

/// A value in a few words, for messages.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => {
            let shown: String = text.chars().take(40).collect();
            let cut = if shown.len() < text.len() { "…" } else { "" };
            format!("the text {shown:?}{cut}")
        }
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

impl Rule {
    /// Compiles a property's schema.
    pub(super) fn of(schema: &Value, definitions: &Map<String, Value>) -> Self {
        Self::compile(schema, definitions, REFERENCE_DEPTH)
    }

    fn compile(schema: &Value, definitions: &Map<String, Value>, depth: usize) -> Self {
        let schema = resolve(schema, definitions);
        if let Some(choices) = choices(&schema) {
            return Self::from(Kind::Choice(choices));
        }
        let variants = ["anyOf", "oneOf", "allOf"]
            .iter()
            .find_map(|keyword| schema.get(*keyword).and_then(Value::as_array));
        if let (Some(variants), 1..) = (variants, depth) {
            return Self::union(
                variants
                    .iter()
                    .filter(|variant| variant.get("type") != Some(&Value::from("null")))
                    .map(|variant| Self::compile(variant, definitions, depth - 1)),
            );
        }
        let kind = match single_type(&schema) {
            Some("boolean") => Kind::Boolean,
            Some("integer") => integer(schema.get("format").and_then(Value::as_str)),
            Some("number") => Kind::Number,
            Some("string") => Kind::Text,
            Some("array") => Kind::List,
            Some("object") => Kind::Object,
            _ => Kind::Any,
        };
        let bounds = Bounds::of(&schema, &kind);
        Self { kind, bounds }
    }

    /// One variant is that variant; choices of text join; anything else is left to the typed reader.
    fn union(variants: impl Iterator<Item = Self>) -> Self {
        let mut variants: Vec<_> = variants.collect();
        if variants.len() == 1
            && let Some(only) = variants.pop()
        {
            return only;
        }
        let mut all = Vec::new();
        for variant in variants {
            match variant.kind {
                Kind::Choice(choices) => all.extend(choices),
                _ => return Self::from(Kind::Any),
            }
        }
        Self::from(Kind::Choice(all))
    }

    /// Checks a value, and turns a lenient scalar into the declared type.
    pub(super) fn check(&self, value: &mut Value) -> Result<(), Broken> {
        if let Some(declared) = self.read(value)? {
            *value = declared;
        }
        Ok(())
    }

    /// The value in its declared type, where it came in another.
    fn read(&self, value: &Value) -> Result<Option<Value>, Broken> {
        match &self.kind {
            Kind::Any => Ok(None),
            Kind::Boolean => match boolean(value) {
                Some(boolean) => Ok(Some(Value::Bool(boolean))),
                None => Err(wrong_type("true or false", value)),
            },
            Kind::Integer { lowest, highest } => match whole(value) {
                Some(number) if number < *lowest => Err(broken("minimum", "at least", lowest)),
                Some(number) if number > *highest => Err(broken("maximum", "at most", highest)),
                Some(number) => {
                    self.bounds.check_number(approximate(number))?;
                    u64::try_from(number)
                        .map(Value::from)
                        .or_else(|_| i64::try_from(number).map(Value::from))
                        .map(Some)
                        .map_err(|_| wrong_type("an integer", value))
                }
                None => Err(wrong_type("an integer", value)),
            },
            Kind::Number => match real(value) {
                Some(number) => {
                    self.bounds.check_number(number)?;
                    Ok((!value.is_number()).then(|| Value::from(number)))
                }
                None => Err(wrong_type("a number", value)),
            },
            Kind::Text => match value.as_str() {
                Some(text) => self.bounds.check_text(text).map(|()| None),
                None => Err(wrong_type("text", value)),
            },
            Kind::Choice(choices) => match value.as_str() {
                Some(text) if choices.iter().any(|choice| choice == text) => Ok(None),
                _ => Err((
                    "enum",
                    format!("must be one of {}; got {}", choices.join(", "), describe(value)),
                )),
            },
            Kind::List => match value.as_array() {
                Some(items) => {
                    self.bounds.check_size(items.len(), "items", ITEMS)?;
                    Ok(None)
                }
                None => Err(wrong_type("a list", value)),
            },
            Kind::Object if value.is_object() => Ok(None),
            Kind::Object => Err(wrong_type("an object", value)),
        }
    }

    /// The typed value a text stands for, where the declared type is not text.
    pub(super) fn read_text(&self, text: &str) -> Option<Value> {
        let mut value = match self.kind {
            Kind::Any | Kind::Text | Kind::Choice(_) => return None,
            Kind::List | Kind::Object => serde_json::from_str(text).ok()?,
            Kind::Boolean | Kind::Integer { .. } | Kind::Number => Value::String(text.to_owned()),
        };
        self.check(&mut value).ok().map(|()| value)
    }
}

impl From<Kind> for Rule {
    fn from(kind: Kind) -> Self {
        let bounds = Bounds::default();
        Self { kind, bounds }
    }
}

const LENGTH: [&str; 2] = ["min_length", "max_length"];
const ITEMS: [&str; 2] = ["min_items", "max_items"];

impl Bounds {
    fn of(schema: &Map<String, Value>, kind: &Kind) -> Self {
        let number = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
        let size = |keyword: &str| {
            let size = schema.get(keyword).and_then(Value::as_u64);
            size.and_then(|size| usize::try_from(size).ok())
        };
        let (least, most) = match kind {
            Kind::List => ("minItems", "maxItems"),
            _ => ("minLength", "maxLength"),
        };
        let pattern = schema.get("pattern").and_then(Value::as_str);
        #[expect(clippy::expect_used, reason = "a mistake in a declaration, found at start")]
        let pattern =
            pattern.map(|pattern| Regex::new(pattern).expect("a declared pattern is valid"));
        Self {
            minimum: number("minimum"),
            maximum: number("maximum"),
            exclusive_minimum: number("exclusiveMinimum"),
            exclusive_maximum: number("exclusiveMaximum"),
            least: size(least),
            most: size(most),
            pattern,
        }
    }

    fn check_number(&self, number: f64) -> Result<(), Broken> {
        if let Some(bound) = self.minimum.filter(|bound| number < *bound) {
            return Err(broken("minimum", "at least", &bound));
        }
        if let Some(bound) = self.maximum.filter(|bound| number > *bound) {
            return Err(broken("maximum", "at most", &bound));
        }
        if let Some(bound) = self.exclusive_minimum.filter(|bound| number <= *bound) {
            return Err(broken("exclusive_minimum", "more than", &bound));
        }
        if let Some(bound) = self.exclusive_maximum.filter(|bound| number >= *bound) {
            return Err(broken("exclusive_maximum", "less than", &bound));
        }
        Ok(())
    }

    fn check_text(&self, text: &str) -> Result<(), Broken> {
        if self.least.is_some() || self.most.is_some() {
            self.check_size(text.chars().count(), "characters", LENGTH)?;
        }
        match &self.pattern {
            Some(pattern) if !pattern.is_match(text) => {
                Err(("pattern", format!("must match {}", pattern.as_str())))
            }
            _ => Ok(()),
        }
    }

    fn check_size(&self, size: usize, unit: &str, rules: [&'static str; 2]) -> Result<(), Broken> {
        match (self.least, self.most) {
            (Some(least), _) if size < least => {
                Err((rules[0], format!("must have at least {least} {unit}, has {size}")))
            }
            (_, Some(most)) if size > most => {
                Err((rules[1], format!("must have at most {most} {unit}, has {size}")))
            }
            _ => Ok(()),
        }
    }
}

fn wrong_type(expected: &str, value: &Value) -> Broken {
    let got = describe(value);
    ("type", format!("expected {expected}, got {got}"))
}

fn broken(rule: &'static str, relation: &str, bound: &impl std::fmt::Display) -> Broken {
    (rule, format!("must be {relation} {bound}"))
}

/// The declared type beside null, when there is just one.
fn single_type(schema: &Map<String, Value>) -> Option<&str> {
    match schema.get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => {
            let mut names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.next().filter(|_| names.next().is_none())
        }
        _ => None,
    }
}

/// The texts a schema allows, when it lists them.
fn choices(schema: &Map<String, Value>) -> Option<Vec<String>> {
    if let Some(Value::String(only)) = schema.get("const") {
        return Some(vec![only.clone()]);
    }
    let listed = schema.get("enum")?.as_array()?;
    listed
        .iter()
        .filter(|choice| !choice.is_null())
        .map(|choice| choice.as_str().map(str::to_owned))
        .collect()
}

/// The range the wire type can hold; without a known format, what JSON numbers hold here.
fn integer(format: Option<&str>) -> Kind {
    let (lowest, highest) = match format {
        Some("int8") => (i128::from(i8::MIN), i128::from(i8::MAX)),
        Some("int16") => (i128::from(i16::MIN), i128::from(i16::MAX)),
        Some("int32") => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Some("int64" | "int") => (i128::from(i64::MIN), i128::from(i64::MAX)),
        Some("uint8") => (0, i128::from(u8::MAX)),
        Some("uint16") => (0, i128::from(u16::MAX)),
        Some("uint32") => (0, i128::from(u32::MAX)),
        Some("uint64" | "uint") => (0, i128::from(u64::MAX)),
        _ => (i128::from(i64::MIN), i128::from(u64::MAX)),
    };
    Kind::Integer { lowest, highest }
}
