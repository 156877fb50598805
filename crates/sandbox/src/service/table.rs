//! Which services there are: what the files say, made into units, and changed when the files do.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::definition::Definition;
use super::load::{Broken, Loaded, Problem};
use super::unit::{Surroundings, Unit};

/// Services of users.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// In the order in which they are started.
    pub(super) units: Vec<Arc<Unit>>,
    pub(super) broken: Vec<Broken>,
    pub(super) problems: Vec<Problem>,
}

/// What changed.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// Units that are no longer set up, or not like this.
    pub(super) gone: Vec<Arc<Unit>>,
    /// Units to start, in order.
    pub(super) fresh: Vec<Arc<Unit>>,
}

impl Table {
    /// Follows the files. A unit that is set up as before is left alone, whatever its state.
    pub(super) fn follow(&mut self, loaded: Loaded, surroundings: &Surroundings) -> Change {
        let mut old: BTreeMap<String, Arc<Unit>> = std::mem::take(&mut self.units)
            .into_iter()
            .map(|unit| (unit.definition.name.clone(), unit))
            .collect();
        let mut change = Change::default();
        for definition in loaded.definitions {
            let unit = match old.remove(&definition.name) {
                Some(unit) if unit.definition == definition => unit,
                before => {
                    let unit = Unit::new(definition, surroundings);
                    let ran = before.as_ref().is_some_and(|before| before.is_wanted());
                    change.gone.extend(before);
                    if ran || unit.definition.autostart {
                        change.fresh.push(Arc::clone(&unit));
                    }
                    unit
                }
            };
            self.units.push(unit);
        }
        change.gone.extend(old.into_values());
        self.broken = loaded.broken;
        self.problems = loaded.problems;
        change
    }

    /// A unit by name.
    pub(super) fn find(&self, name: &str) -> Option<Arc<Unit>> {
        self.units.iter().find(|unit| unit.definition.name == name).cloned()
    }
}

/// Units of the same priority together, the lowest first.
pub(super) fn by_priority(units: &[Arc<Unit>]) -> Vec<Vec<Arc<Unit>>> {
    let mut groups: BTreeMap<i64, Vec<Arc<Unit>>> = BTreeMap::new();
    for unit in units {
        let Definition { priority, .. } = unit.definition;
        groups.entry(priority).or_default().push(Arc::clone(unit));
    }
    groups.into_values().collect()
}
