//! The input that a command line means: JSON, then words and flags over it, then what is not given.

use atoll_operation::Declaration;
use clap::ArgMatches;
use serde_json::{Map, Value};

use super::command::{DATA, MORE, flag_id, flag_name, word_id, words};
use super::schema::{Field, Shape, Types};
use crate::failure::Failure;
use crate::{stdin, sugar};

/// The input of an operation.
pub(crate) fn input(declaration: &Declaration, matches: &ArgMatches) -> Result<Value, Failure> {
    let shape = Shape::of(declaration);
    let mut fields = match matches.get_one::<String>(DATA) {
        Some(data) => object(data)?,
        None => Map::new(),
    };
    for field in &shape.fields {
        let given: Vec<&String> =
            matches.get_many(&flag_id(&field.name)).into_iter().flatten().collect();
        if !given.is_empty() {
            let named = format!("--{}", flag_name(declaration, &field.name));
            fields.insert(field.name.clone(), value(field, &given, &named)?);
        }
    }
    place_words(declaration, &shape, matches, &mut fields)?;
    if shape.open {
        for more in matches.get_many::<String>(MORE).into_iter().flatten() {
            let (name, text) = more
                .split_once('=')
                .ok_or_else(|| Failure::usage(format!("--argument {more:?}: write NAME=VALUE")))?;
            fields.insert(name.to_owned(), loose(text));
        }
    }
    for (name, default) in
        sugar::of(declaration.spec.id).map(|sugar| sugar.defaults).unwrap_or_default()
    {
        fields.entry(*name).or_insert_with(|| Value::from(*default));
    }
    let missing: Vec<_> = shape
        .fields
        .iter()
        .filter(|field| field.required && !fields.contains_key(&field.name))
        .map(|field| format!("--{}", flag_name(declaration, &field.name)))
        .collect();
    if missing.is_empty() {
        return Ok(Value::Object(fields));
    }
    let id = declaration.spec.id;
    Err(Failure::usage(format!(
        "{} missing; `atoll call {id} --help` tells more",
        match missing.as_slice() {
            [one] => format!("{one} is"),
            several => format!("{} are", several.join(", ")),
        }
    )))
}

/// Words stand for the fields that are not given otherwise, in their order.
fn place_words(
    declaration: &Declaration,
    shape: &Shape,
    matches: &ArgMatches,
    fields: &mut Map<String, Value>,
) -> Result<(), Failure> {
    let candidates = words(declaration, shape);
    let given: Vec<&String> =
        candidates.iter().filter_map(|field| matches.get_one(&word_id(&field.name))).collect();
    let open: Vec<&Field> =
        candidates.into_iter().filter(|field| !fields.contains_key(&field.name)).collect();
    if let Some(extra) = given.get(open.len()) {
        return Err(Failure::usage(format!(
            "{extra:?} is one word too many: what it could stand for is given by a flag already"
        )));
    }
    for (field, word) in open.into_iter().zip(given) {
        let named = field.name.to_uppercase();
        fields.insert(field.name.clone(), value(field, &[word], &named)?);
    }
    Ok(())
}

fn object(data: &str) -> Result<Map<String, Value>, Failure> {
    let text = match data.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("--data: {path} cannot be read: {error}")))?,
        None if data == "-" => stdin::text()?,
        None => data.to_owned(),
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Failure::usage("--data: give a JSON object, such as {\"name\": \"value\"}")),
        Err(error) => Err(Failure::usage(format!("--data is no JSON: {error}"))),
    }
}

/// The value of a field that was given once or, if it is a list, several times.
fn value(field: &Field, given: &[&String], named: &str) -> Result<Value, Failure> {
    let wrong =
        |expected: &str, text: &str| Failure::usage(format!("{named} {text:?}: give {expected}"));
    if let [one] = given {
        let is_json = one.starts_with('[') || one.starts_with('{');
        if is_json
            && (field.types.list || field.types.object)
            && let Ok(value) = serde_json::from_str(one)
        {
            return Ok(value);
        }
    }
    if field.types.is_list() || given.len() > 1 {
        let types = if field.items.is_open() {
            Types { text: true, ..Types::default() }
        } else {
            field.items
        };
        let items =
            given.iter().map(|text| scalar(types, text).map_err(|expected| wrong(expected, text)));
        return items.collect::<Result<_, _>>().map(Value::Array);
    }
    let text = given.first().map(|text| text.as_str()).unwrap_or_default();
    scalar(field.types, text).map_err(|expected| wrong(expected, text))
}

/// A text as the kind of value that is wanted, or what is wanted.
fn scalar(types: Types, text: &str) -> Result<Value, &'static str> {
    if types.is_open() {
        return Ok(loose(text));
    }
    let number = || serde_json::from_str::<serde_json::Number>(text).ok();
    if types.integer
        && let Some(number) = number().filter(|number| !number.is_f64())
    {
        return Ok(Value::Number(number));
    }
    if types.number
        && let Some(number) = number()
    {
        return Ok(Value::Number(number));
    }
    if types.boolean
        && let Ok(switch) = text.parse()
    {
        return Ok(Value::Bool(switch));
    }
    if types.text {
        return Ok(Value::from(text));
    }
    if (types.object || types.list)
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    Err(match types {
        Types { object: true, .. } | Types { list: true, .. } => "JSON",
        Types { number: true, .. } => "a number",
        Types { integer: true, .. } => "a whole number",
        _ => "true or false",
    })
}

/// JSON where the text is some, else the text.
fn loose(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::generate::command;
    use crate::registry;

    fn meant(id: &str, line: &[&str]) -> Result<Value, String> {
        let declaration = registry::find(id).unwrap();
        let matches = command(declaration, id).try_get_matches_from([&[id], line].concat());
        let matches = matches.map_err(|error| error.to_string())?;
        input(declaration, &matches).map_err(|failure| failure.to_string())
    }

    #[test]
    fn what_must_be_given_may_be_words_or_flags() {
        let url = json!({"url": "https://a"});
        assert_eq!(meant("browser_navigate", &["https://a"]).unwrap(), url);
        assert_eq!(meant("browser_navigate", &["--url", "https://a"]).unwrap(), url);
        let moved = meant("file_move", &["--source", "a", "b"]).unwrap();
        assert_eq!(moved, json!({"source": "a", "destination": "b"}));
        let error = meant("file_move", &["a"]).unwrap_err();
        assert!(error.contains("--destination"), "{error}");
        let error = meant("file_move", &["--source", "a", "b", "c"]).unwrap_err();
        assert!(error.contains("\"c\""), "{error}");
    }

    #[test]
    fn values_get_the_kind_their_field_has() {
        let found = meant(
            "file_grep",
            &["x", "--max-results", "3", "--include", "*.rs", "--include", "*.md"],
        );
        let expected =
            json!({"pattern": "x", "path": ".", "max_results": 3, "include": ["*.rs", "*.md"]});
        assert_eq!(found.unwrap(), expected);
        let switch = meant("file_list", &["/d", "--recursive", "--show-hidden=false"]).unwrap();
        assert_eq!(switch["recursive"], true);
        assert_eq!(switch["show_hidden"], false);
        let error = meant("file_grep", &["x", "--max-results", "many"]).unwrap_err();
        assert!(error.contains("--max-results") && error.contains("whole number"), "{error}");
        let environment = meant("bash_exec", &["env", "--env", "{\"A\":\"b\"}"]).unwrap();
        assert_eq!(environment["env"]["A"], "b");
    }

    #[test]
    fn json_comes_first_and_flags_are_stronger() {
        let found =
            meant("bash_exec", &["-d", "{\"command\": \"a\", \"timeout\": 3}", "--command", "b"]);
        assert_eq!(found.unwrap(), json!({"command": "b", "timeout": 3}));
        for wrong in ["[1]", "{", "@/nowhere"] {
            let error = meant("bash_exec", &["-d", wrong]).unwrap_err();
            assert!(error.contains("--data"), "{error}");
        }
    }

    #[test]
    fn fields_that_are_not_declared_go_where_they_are_taken() {
        let found =
            meant("mcp_call_tool", &["s", "t", "-a", "n=3", "-a", "text=hello there"]).unwrap();
        assert_eq!(found["n"], 3);
        assert_eq!(found["text"], "hello there");
    }
}
