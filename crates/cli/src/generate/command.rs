//! The command of an operation.

use atoll_operation::{Declaration, Shape as Exchange};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, ValueHint};

use super::schema::{Field, Shape};
use crate::globals::RESERVED;
use crate::sugar;

/// The argument that holds a whole input as JSON.
pub(super) const DATA: &str = "data";
/// The argument that asks for a stream.
pub(crate) const FOLLOW: &str = "follow";
/// The argument that names the file of an upload.
pub(crate) const FILE: &str = "upload";
/// The argument for fields that are not declared.
pub(super) const MORE: &str = "argument";

/// The id of a field's flag.
pub(super) fn flag_id(field: &str) -> String {
    format!("field:{field}")
}

/// The id of a field's word.
pub(super) fn word_id(field: &str) -> String {
    format!("word:{field}")
}

/// The command of an operation, under this name.
pub(crate) fn command(declaration: &Declaration, name: &str) -> Command {
    let shape = Shape::of(declaration);
    let mut command = Command::new(name.to_owned())
        .about(first_sentence(&shape.about))
        .long_about(shape.about.clone())
        .after_long_help(footer(declaration));
    for (position, field) in words(declaration, &shape).into_iter().enumerate() {
        let word = Arg::new(word_id(&field.name))
            .value_name(field.name.to_uppercase())
            .index(position + 1)
            .help(format!("The same as --{}", flag_name(declaration, &field.name)))
            .allow_negative_numbers(true);
        command = command.arg(word);
    }
    for field in &shape.fields {
        command = command.arg(flag(declaration, field));
    }
    let data = Arg::new(DATA)
        .long("data")
        .short('d')
        .value_name("JSON")
        .help("The fields as a JSON object; @FILE reads it from a file, - from standard input; flags are stronger");
    command = command.arg(data);
    if shape.open {
        let more = Arg::new(MORE)
            .long("argument")
            .short('a')
            .value_name("NAME=VALUE")
            .action(ArgAction::Append)
            .help(
                "A field that is not declared; a value that is JSON is taken as such; repeatable",
            );
        command = command.arg(more);
    }
    match declaration.spec.shape {
        Exchange::Streaming => {
            let follow = Arg::new(FOLLOW)
                .long("follow")
                .short('f')
                .action(ArgAction::SetTrue)
                .help("Print what happens as it happens");
            command.arg(follow)
        }
        Exchange::Upload => {
            let file = Arg::new(FILE)
                .long("file")
                .value_name("PATH")
                .value_hint(ValueHint::FilePath)
                .required(declaration.file_required)
                .help("The file to send; - means standard input");
            command.arg(file)
        }
        _ => command,
    }
}

/// The fields that may be given as words: those that must be given, unless the order is set by hand.
pub(super) fn words<'a>(declaration: &Declaration, shape: &'a Shape) -> Vec<&'a Field> {
    let by_hand = sugar::of(declaration.spec.id).map(|sugar| sugar.words).unwrap_or_default();
    if !by_hand.is_empty() {
        let find = |name: &&str| shape.fields.iter().find(|field| field.name == **name);
        return by_hand.iter().filter_map(find).collect();
    }
    let simple = |field: &&Field| !field.types.is_list() && !field.types.object;
    shape.fields.iter().filter(|field| field.required).filter(simple).collect()
}

/// The long name of a field's flag.
pub(super) fn flag_name(declaration: &Declaration, field: &str) -> String {
    let name = field.replace('_', "-");
    let is_file = declaration.spec.shape == Exchange::Upload && name == "file";
    let taken = RESERVED.contains(&name.as_str()) || name == MORE || is_file;
    if taken { format!("field-{name}") } else { name }
}

fn flag(declaration: &Declaration, field: &Field) -> Arg {
    let mut about = field.about.replace('\n', " ");
    if let Some(default) = &field.default {
        about.push_str(&format!(" [default: {default}]"));
    }
    let arg = Arg::new(flag_id(&field.name))
        .long(flag_name(declaration, &field.name))
        .help(about)
        .allow_negative_numbers(true);
    if field.types.is_switch() {
        return arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(PossibleValuesParser::new(["true", "false"]))
            .value_name("true|false");
    }
    let arg = arg.value_name(value_name(field));
    let only_choices = field.types.text
        && !(field.types.integer || field.types.number || field.types.boolean || field.types.list);
    if field.types.list {
        arg.action(ArgAction::Append)
    } else if only_choices && !field.choices.is_empty() {
        arg.value_parser(PossibleValuesParser::new(field.choices.clone()))
    } else {
        arg
    }
}

fn value_name(field: &Field) -> &'static str {
    let types = if field.types.is_list() { field.items } else { field.types };
    match (types.text, types.integer, types.number, types.object || types.list) {
        (true, ..) => "TEXT",
        (false, true, ..) | (false, _, true, _) => "NUMBER",
        (false, false, false, true) => "JSON",
        _ => "VALUE",
    }
}

fn footer(declaration: &Declaration) -> String {
    let spec = &declaration.spec;
    let mut text = format!(
        "Operation {} ({} {}), scope {}.",
        spec.id,
        spec.method.as_str(),
        spec.path,
        spec.scope
    );
    if !spec.errors.is_empty() {
        text.push_str(&format!("\nIt may be refused with: {}.", spec.errors.join(", ")));
    }
    if spec.shape == Exchange::Conversation {
        text.push_str(
            "\nMessages are lines of JSON: those on standard input are sent, those received are printed.",
        );
    }
    text
}

/// The beginning of a description.
fn first_sentence(about: &str) -> String {
    let paragraph = about.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let end = paragraph.find(". ").unwrap_or(paragraph.len());
    paragraph.get(..end).unwrap_or_default().trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_makes_a_sound_command_with_help() {
        for declaration in atoll_api::operations() {
            let id = declaration.spec.id;
            let mut command = command(declaration, id);
            command.clone().debug_assert();
            let help = command.render_long_help().to_string();
            assert!(help.contains(id) && help.contains(declaration.spec.path), "{help}");
            for field in Shape::of(declaration).fields {
                let flag = format!("--{}", flag_name(declaration, &field.name));
                assert!(help.contains(&flag), "{id} lacks {flag}");
            }
        }
    }

    #[test]
    fn a_description_is_cut_to_its_first_sentence() {
        assert_eq!(first_sentence("Run it\nnow. Then look.\n\nMore."), "Run it now");
        assert_eq!(first_sentence("Reads a.txt."), "Reads a.txt");
    }
}
