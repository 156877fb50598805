use proptest::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;
use crate::{Operation, Spec};

#[derive(Serialize, Deserialize, JsonSchema)]
enum Colour {
    /// Documented, so that the schema is a list of constants.
    Red,
    /// The other form.
    Blue,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Mode {
    Fast,
    Slow,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Probe {
    name: String,
    #[serde(default)]
    #[schemars(range(min = 0))]
    timeout: Option<f64>,
    #[serde(default)]
    count: Option<u64>,
    #[serde(default)]
    small: Option<i32>,
    #[serde(default)]
    flag: bool,
    #[serde(default)]
    colour: Option<Colour>,
    #[serde(default)]
    mode: Option<Mode>,
    #[serde(default)]
    #[schemars(length(min = 2, max = 4), regex(pattern = "^[a-z]+$"))]
    slug: Option<String>,
    #[serde(default)]
    #[schemars(length(min = 1, max = 2))]
    items: Option<Vec<String>>,
    #[serde(default)]
    env: Option<std::collections::BTreeMap<String, String>>,
    #[serde(default)]
    #[schemars(extend("x-allow-nul" = true))]
    keys: Option<String>,
    #[serde(default)]
    anything: Option<Value>,
    #[serde(default)]
    #[schemars(extend("x-keep-null" = true))]
    decided: Option<bool>,
}

impl Operation for Probe {
    type Output = ();
    const SPEC: Spec = Spec::post("probe", "/probe", "test:read");
}

fn shape() -> InputShape {
    InputShape::of(&Declaration::of::<Probe>())
}

/// Checks `{name: "n", field: value}`: the normalised value, or the rule broken.
fn outcome(field: &str, value: Value) -> Result<Value, &'static str> {
    let mut input = json!({"name": "n"});
    input[field] = value;
    match shape().check(input) {
        Ok(mut checked) => Ok(checked[field].take()),
        Err(error) => {
            assert_eq!(error.fields().len(), 1, "{error}");
            assert_eq!(error.fields()[0].path[0], field);
            Err(error.fields()[0].rule)
        }
    }
}

#[test]
fn an_absent_input_is_an_empty_object() {
    let error = shape().check(Value::Null).unwrap_err();
    assert_eq!(error.message(), "name: is required");
    assert_eq!(error.fields()[0].rule, "missing");
}

#[test]
fn an_input_that_is_no_object_is_refused() {
    for input in [json!([]), json!("x"), json!(3), json!(true)] {
        let error = shape().check(input).unwrap_err();
        assert!(error.fields()[0].path.is_empty(), "{error}");
    }
}

#[test]
fn null_is_absent_and_unknown_fields_are_left_alone() {
    let checked = shape().check(json!({"name": "n", "timeout": null, "flag": null, "new": null}));
    assert_eq!(checked.unwrap(), json!({"name": "n", "new": null}));
    let error = shape().check(json!({"name": null})).unwrap_err();
    assert_eq!(error.fields()[0].rule, "missing");
}

#[test]
fn a_null_that_means_something_is_kept() {
    let checked = shape().check(json!({"name": "n", "decided": null})).unwrap();
    assert_eq!(checked, json!({"name": "n", "decided": null}));
    assert_eq!(outcome("decided", json!("yes, please")), Err("type"));
}

#[test]
fn scalars_may_come_as_text() {
    assert_eq!(outcome("timeout", json!("1.5")), Ok(json!(1.5)));
    assert_eq!(outcome("timeout", json!(" 30 ")), Ok(json!(30.0)));
    assert_eq!(outcome("timeout", json!(30)), Ok(json!(30)));
    assert_eq!(outcome("count", json!("30")), Ok(json!(30)));
    assert_eq!(outcome("count", json!("30.0")), Ok(json!(30)));
    assert_eq!(outcome("count", json!(30.0)), Ok(json!(30)));
    assert_eq!(outcome("count", json!(u64::MAX)), Ok(json!(u64::MAX)));
    assert_eq!(outcome("small", json!("-7")), Ok(json!(-7)));
    for yes in [json!(true), json!("true"), json!("1"), json!("YES"), json!(1), json!(1.0)] {
        assert_eq!(outcome("flag", yes), Ok(json!(true)));
    }
    for no in [json!(false), json!("False"), json!("0"), json!("off"), json!(0)] {
        assert_eq!(outcome("flag", no), Ok(json!(false)));
    }
}

#[test]
fn wrong_types_name_their_field() {
    for (field, value) in [
        ("name", json!(3)),
        ("name", json!(true)),
        ("timeout", json!("abc")),
        ("timeout", json!("")),
        ("timeout", json!("nan")),
        ("timeout", json!("inf")),
        ("timeout", json!("1e400")),
        ("timeout", json!(true)),
        ("timeout", json!([1])),
        ("count", json!(1.5)),
        ("count", json!("1e400")),
        ("count", json!("١")),
        ("flag", json!(2)),
        ("flag", json!("maybe")),
        ("items", json!("a")),
        ("env", json!(["A=1"])),
    ] {
        assert_eq!(outcome(field, value.clone()), Err("type"), "{field} {value}");
    }
}

#[test]
fn bounds_are_enforced() {
    for (field, value, rule) in [
        ("timeout", json!(-0.1), "minimum"),
        ("timeout", json!("-1"), "minimum"),
        ("count", json!(-1), "minimum"),
        ("count", json!(1e20), "maximum"),
        ("small", json!(3_000_000_000_u64), "maximum"),
        ("small", json!(-3_000_000_000_i64), "minimum"),
        ("slug", json!("a"), "min_length"),
        ("slug", json!("abcde"), "max_length"),
        ("slug", json!("A1"), "pattern"),
        ("items", json!([]), "min_items"),
        ("items", json!(["a", "b", "c"]), "max_items"),
        ("colour", json!("Green"), "enum"),
        ("mode", json!("Medium"), "enum"),
        ("mode", json!(1), "enum"),
    ] {
        assert_eq!(outcome(field, value.clone()), Err(rule), "{field} {value}");
    }
    assert_eq!(outcome("colour", json!("Red")), Ok(json!("Red")));
    assert_eq!(outcome("mode", json!("Slow")), Ok(json!("Slow")));
    assert_eq!(outcome("slug", json!("äöü")), Err("pattern"));
}

#[test]
fn every_mistake_is_reported_at_once() {
    let error = shape().check(json!({"timeout": "x", "count": -1, "flag": []})).unwrap_err();
    let mut rules: Vec<_> = error.fields().iter().map(|field| field.rule).collect();
    rules.sort_unstable();
    assert_eq!(rules, ["minimum", "missing", "type", "type"]);
}

#[test]
fn nul_bytes_are_refused_wherever_they_hide() {
    assert_eq!(outcome("name", json!("a\0b")), Err("nul"));
    assert_eq!(outcome("env", json!({"A": "\0"})), Err("nul"));
    assert_eq!(outcome("env", json!({"A\0": "x"})), Err("nul"));
    assert_eq!(outcome("items", json!(["fine", "\0"])), Err("nul"));
    assert_eq!(outcome("anything", json!([{"deep": [1, "\0"]}])), Err("nul"));
    assert_eq!(outcome("unknown", json!("\0")), Err("nul"));
    assert_eq!(outcome("keys", json!("\0")), Ok(json!("\0")));
    let error = shape().check(json!({"name": "n", "env": {"B": "", "A": "\0"}})).unwrap_err();
    assert_eq!(error.fields()[0].path, ["env", "A"]);
}

#[test]
fn parameters_are_read_by_their_declared_type() {
    let shape = shape();
    assert_eq!(shape.coerce_text("name", "30"), json!("30"));
    assert_eq!(shape.coerce_text("count", "30"), json!(30));
    assert_eq!(shape.coerce_text("timeout", "0.5"), json!(0.5));
    assert_eq!(shape.coerce_text("flag", "true"), json!(true));
    assert_eq!(shape.coerce_text("items", "[\"a\"]"), json!(["a"]));
    assert_eq!(shape.coerce_text("count", "many"), json!("many"));
    assert_eq!(shape.coerce_text("unknown", "1"), json!("1"));
    assert!(shape.declares("name") && !shape.declares("unknown"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[-+.eE0-9 ]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_input_panics_and_an_accepted_one_stays_accepted(
        fields in prop::collection::btree_map(
            prop::sample::select(vec![
                "name", "timeout", "count", "small", "flag", "colour", "mode", "slug", "items", "env",
                "keys", "anything", "unknown",
            ]),
            any_json(),
            0..6,
        ),
        whole in any_json(),
    ) {
        let shape = shape();
        drop(shape.check(whole));
        let object = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        if let Ok(checked) = shape.check(Value::Object(object)) {
            prop_assert_eq!(shape.check(checked.clone()).unwrap(), checked.clone());
            let read: Result<Probe, _> = serde_json::from_value(checked);
            // Only what lies below the top level may still be refused by the typed reader.
            if let Err(error) = read {
                prop_assert!(error.to_string().contains("expected a string"), "{}", error);
            }
        }
    }
}
