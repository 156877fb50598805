//! The declared operations as groups of verbs: `browser_tab_list` is `browser tab-list`.

use std::collections::BTreeSet;

use atoll_operation::Declaration;

use crate::sugar;

/// An operation as a verb of its group.
#[derive(Debug)]
pub(crate) struct Verb {
    pub(crate) declaration: &'static Declaration,
    pub(crate) name: String,
    pub(crate) aliases: Vec<String>,
}

/// The operation of this id.
pub(crate) fn find(id: &str) -> Option<&'static Declaration> {
    atoll_api::operations().find(|declaration| declaration.spec.id == id)
}

/// Every group, in the order of the declarations.
pub(crate) fn groups() -> Vec<&'static str> {
    let mut groups = Vec::new();
    for declaration in atoll_api::operations() {
        let group = group(declaration.spec.id);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

/// The group this word names, by the name on the command line or by that of the operations' ids.
pub(crate) fn group_named(word: &str) -> Option<&'static str> {
    let renamed = sugar::GROUP_NAMES.iter().find(|(prefix, _)| *prefix == word);
    let wanted = renamed.map_or(word, |(_, name)| *name);
    groups().into_iter().find(|group| *group == wanted)
}

/// The other name of a group.
pub(crate) fn group_alias(group: &str) -> Option<&'static str> {
    let renamed = sugar::GROUP_NAMES.iter().find(|(_, name)| *name == group)?;
    Some(renamed.0)
}

fn group(id: &'static str) -> &'static str {
    let prefix = id.split('_').next().unwrap_or(id);
    let renamed = sugar::GROUP_NAMES.iter().find(|(known, _)| *known == prefix);
    renamed.map_or(prefix, |(_, name)| *name)
}

/// The verbs of a group, without those whose name is taken by something made by hand; `call` reaches these too.
pub(crate) fn verbs(wanted: &str, taken: &[&str]) -> Vec<Verb> {
    let operations =
        || atoll_api::operations().filter(|declaration| group(declaration.spec.id) == wanted);
    let own_name = |declaration: &Declaration| {
        let id = declaration.spec.id;
        id.split_once('_').map_or(id, |(_, verb)| verb).replace('_', "-")
    };
    let mut names: BTreeSet<String> = operations().map(own_name).collect();
    names.extend(taken.iter().map(|name| (*name).to_owned()));
    let mut verbs = Vec::new();
    for declaration in operations() {
        let name = own_name(declaration);
        if taken.contains(&name.as_str()) {
            continue;
        }
        let by_hand = sugar::of(declaration.spec.id).map(|sugar| sugar.aliases).unwrap_or_default();
        let by_hand = by_hand.iter().map(|alias| (*alias).to_owned());
        let aliases = by_hand.chain(sdk_name(declaration, wanted));
        let aliases = aliases.filter(|alias| names.insert(alias.clone())).collect();
        verbs.push(Verb { declaration, name, aliases });
    }
    verbs
}

/// The verb as the public SDKs call it: `client.browser.tabs.list()` is `browser tabs-list`.
fn sdk_name(declaration: &Declaration, group: &str) -> Option<String> {
    let sdk = declaration.spec.sdk?;
    let rest = sdk.group.strip_prefix(group).unwrap_or(sdk.group);
    let rest = rest.trim_start_matches(['_', '.']);
    let name =
        if rest.is_empty() { sdk.method.to_owned() } else { format!("{rest}_{}", sdk.method) };
    Some(name.replace(['_', '.'], "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_a_verb_of_one_group() {
        let verbs: usize = groups().into_iter().map(|group| verbs(group, &[]).len()).sum();
        assert_eq!(verbs, atoll_api::operations().count());
    }

    #[test]
    fn no_two_verbs_of_a_group_have_a_name_in_common() {
        for group in groups() {
            let mut seen = BTreeSet::new();
            for verb in verbs(group, &[]) {
                for name in verb.aliases.into_iter().chain([verb.name]) {
                    assert!(seen.insert(name.clone()), "{group} {name}");
                }
            }
        }
    }

    #[test]
    fn verbs_have_the_names_people_know() {
        let names = |group: &str| -> BTreeSet<String> {
            let verbs = verbs(group, &[]).into_iter();
            verbs.flat_map(|verb| verb.aliases.into_iter().chain([verb.name])).collect()
        };
        let browser = names("browser");
        for name in ["navigate", "screenshot", "tab-list", "tabs-list", "tabs"] {
            assert!(browser.contains(name), "{name}");
        }
        assert!(names("sandbox").contains("info") && names("file").contains("ls"));
        assert_eq!(group_named("gui"), group_named("desktop"));
        assert_eq!(group_named("nothing"), None);
    }
}
