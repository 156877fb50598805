//! Whatever text a query or path holds, every operation's input is read without a panic, and what passes is what the
//! schema declares. Seeded and structure-aware: names come from the schemas, values from what parsers trip over.
//!
//! `ATOLL_FUZZ_ROUNDS` asks for a longer run.

use atoll_operation::{Declaration, InputShape};
use atoll_testkit::fuzz::{Numbers, rounds};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Values that parsers of numbers, truths, lists and text trip over.
const HOSTILE: [&str; 48] = [
    "",
    " ",
    "0",
    "-0",
    "1",
    "-1",
    "+1",
    "01",
    " 1",
    "1 ",
    "1.0",
    "1.5",
    "1e3",
    "1e309",
    "-1e309",
    "1e-400",
    "NaN",
    "inf",
    "-Infinity",
    "0x10",
    "1_000",
    "１",
    "٣",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "true",
    "True",
    "TRUE",
    "yes",
    "false",
    "null",
    "[]",
    "[1,\"a\"]",
    "[[[[]]]]",
    "{}",
    "{\"a\":null}",
    "\"quoted\"",
    "a,b",
    "a;b",
    "..",
    "/etc/passwd",
    "\u{0}",
    "a\u{0}b",
    "\u{feff}x",
    "\u{202e}\u{1f600}",
];

struct Subject {
    id: &'static str,
    shape: InputShape,
    fields: Vec<String>,
    validator: jsonschema::Validator,
}

fn subject(declaration: &Declaration) -> Subject {
    let mut generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let input = (declaration.input)(&mut generator).to_value();
    let definitions: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    let name = input["$ref"].as_str().and_then(|name| name.rsplit('/').next()).map(str::to_owned);
    let object = name.map_or(&input, |name| &definitions[&name]);
    let fields = object["properties"].as_object().into_iter().flatten();
    let fields = fields.map(|(name, _)| name.clone()).collect();
    let mut schema = input.clone();
    schema["$defs"] = Value::Object(definitions.clone());
    Subject {
        id: declaration.spec.id,
        shape: InputShape::of(declaration),
        fields,
        validator: jsonschema::validator_for(&schema).expect("a schema"),
    }
}

/// A text: hostile, two of them joined, or one with a byte changed.
fn value(numbers: &mut Numbers) -> String {
    let one = numbers.word(&HOSTILE);
    match numbers.below(4) {
        0 => format!("{one}{}", numbers.word(&HOSTILE)),
        1 => one.repeat(numbers.below(40) + 1),
        2 => {
            let mut bytes = one.as_bytes().to_vec();
            if let Some(byte) = numbers.place(&bytes).and_then(|at| bytes.get_mut(at)) {
                *byte ^= 1 << numbers.below(8);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        }
        _ => one.to_owned(),
    }
}

#[test]
fn text_for_any_operation_is_read_as_declared_or_refused() {
    let subjects: Vec<_> = atoll_api::operations().map(subject).collect();
    let mut numbers = Numbers::new("coercion");
    let (count, mut accepted) = (rounds(20_000), 0_u64);
    for round in 0..count {
        let subject = numbers.pick(&subjects);
        let mut input = Map::new();
        for field in &subject.fields {
            if numbers.below(3) > 0 {
                let text = value(&mut numbers);
                let read = subject.shape.coerce_text(field, &text);
                // Some arrive as JSON bodies hold them.
                let sent = if numbers.below(4) == 0 { json!(text) } else { read };
                input.insert(field.clone(), sent);
            }
        }
        if numbers.below(8) == 0 {
            input.insert(value(&mut numbers), json!(value(&mut numbers)));
        }
        let sent = Value::Object(input);
        let Ok(checked) = subject.shape.check(sent.clone()) else { continue };
        accepted += 1;
        // What lies within a list or an object is the typed input's business.
        let mut problems = subject.validator.iter_errors(&checked);
        let shallow = problems.find(|error| {
            let path = error.instance_path().to_string();
            let scalar = |value: &Value| !value.is_object() && !value.is_array();
            path.is_empty()
                || path.matches('/').count() == 1 && checked.pointer(&path).is_some_and(scalar)
        });
        assert!(
            shallow.is_none(),
            "round {round}: {} took {sent} as {checked}: {}",
            subject.id,
            shallow.map(|error| error.to_string()).unwrap_or_default()
        );
    }
    assert!(accepted > count / 100, "{accepted} of {count} were good: nothing is tested");
    eprintln!("fuzzed coercion: {count} rounds, {accepted} accepted");
}
