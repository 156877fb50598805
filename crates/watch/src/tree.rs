//! The directories that are watched, as the notices handled so far tell it.
//!
//! Directories are known by numbers of our own, so that one that moves takes everything below it along: paths are put
//! together only when they are needed.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::disk::Identity;
use crate::kernel::WatchNumber;

/// Names remembered at most. Past it a file may be told of as created twice, which harms less than using up memory.
const MOST_REMEMBERED: usize = 100_000;

/// A directory's number; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(u64);

/// Whether a name was told of already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Not, or not remembered.
    New,
    /// It was; found by looking, with this inode, or by a notice.
    Told(Option<u64>),
}

#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: HashMap<NodeId, Node>,
    numbers: HashMap<WatchNumber, NodeId>,
    root: Option<NodeId>,
    next: u64,
    remembered: usize,
}

#[derive(Debug)]
struct Node {
    /// None for the root, and for a directory whose place was taken while it moves.
    parent: Option<NodeId>,
    name: OsString,
    number: WatchNumber,
    identity: Identity,
    children: HashMap<OsString, NodeId>,
    /// It left its place; whether it arrives at another is not known yet.
    moving: bool,
    /// Names told of while the directory is looked through and notices from before that may still come.
    told: Option<HashMap<OsString, Option<u64>>>,
}

impl Tree {
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn root(&self) -> Option<NodeId> {
        self.root
    }

    pub(crate) fn contains(&self, node: NodeId) -> bool {
        self.nodes.contains_key(&node)
    }

    pub(crate) fn by_number(&self, number: WatchNumber) -> Option<NodeId> {
        self.numbers.get(&number).copied()
    }

    pub(crate) fn child(&self, parent: NodeId, name: &OsStr) -> Option<NodeId> {
        self.nodes.get(&parent)?.children.get(name).copied()
    }

    pub(crate) fn children(&self, parent: NodeId) -> Vec<(OsString, NodeId)> {
        let children = self.nodes.get(&parent).map(|node| node.children.iter());
        children.into_iter().flatten().map(|(name, node)| (name.clone(), *node)).collect()
    }

    /// Where a directory lies in another.
    pub(crate) fn place(&self, node: NodeId) -> Option<(NodeId, OsString)> {
        let node = self.nodes.get(&node)?;
        Some((node.parent?, node.name.clone()))
    }

    pub(crate) fn identity(&self, node: NodeId) -> Option<Identity> {
        self.nodes.get(&node).map(|node| node.identity)
    }

    /// Path from the root on; none when the directory has no place.
    pub(crate) fn relative(&self, node: NodeId) -> Option<PathBuf> {
        let mut names = Vec::new();
        let mut at = node;
        while Some(at) != self.root {
            let node = self.nodes.get(&at)?;
            names.push(node.name.as_os_str());
            at = node.parent?;
        }
        Some(names.into_iter().rev().collect())
    }

    /// Whether `node` lies in `directory`, or is it.
    pub(crate) fn lies_in(&self, node: NodeId, directory: NodeId) -> bool {
        let mut at = Some(node);
        while let Some(node) = at {
            if node == directory {
                return true;
            }
            at = self.nodes.get(&node).and_then(|node| node.parent);
        }
        false
    }

    pub(crate) fn plant(&mut self, number: WatchNumber, identity: Identity) -> NodeId {
        let node = self.insert(None, OsString::new(), number, identity);
        self.root = Some(node);
        node
    }

    /// Adds a directory; its place must be free.
    pub(crate) fn add(
        &mut self,
        parent: NodeId,
        name: &OsStr,
        number: WatchNumber,
        identity: Identity,
    ) -> NodeId {
        let node = self.insert(Some(parent), name.to_owned(), number, identity);
        if let Some(parent) = self.nodes.get_mut(&parent) {
            parent.children.insert(name.to_owned(), node);
        }
        node
    }

    /// Puts a directory elsewhere; the place must be free. No directory can come to lie in itself.
    pub(crate) fn relocate(&mut self, node: NodeId, parent: NodeId, name: &OsStr) {
        if self.lies_in(parent, node) {
            return;
        }
        self.detach(node);
        if let Some(moved) = self.nodes.get_mut(&node) {
            moved.parent = Some(parent);
            name.clone_into(&mut moved.name);
        }
        if let Some(parent) = self.nodes.get_mut(&parent) {
            parent.children.insert(name.to_owned(), node);
        }
    }

    /// Takes a directory from its place.
    pub(crate) fn detach(&mut self, node: NodeId) {
        let Some((parent, name)) = self.place(node) else {
            return;
        };
        if let Some(parent) = self.nodes.get_mut(&parent)
            && parent.children.get(&name) == Some(&node)
        {
            parent.children.remove(&name);
        }
        if let Some(node) = self.nodes.get_mut(&node) {
            node.parent = None;
        }
    }

    /// Forgets a directory with everything below it, and says what need not be watched any more.
    pub(crate) fn remove(&mut self, node: NodeId) -> Vec<WatchNumber> {
        self.detach(node);
        if self.root == Some(node) {
            self.root = None;
        }
        let mut numbers = Vec::new();
        let mut left = vec![node];
        while let Some(node) = left.pop() {
            self.stop_remembering(node);
            if let Some(node) = self.nodes.remove(&node) {
                self.numbers.remove(&node.number);
                numbers.push(node.number);
                left.extend(node.children.into_values());
            }
        }
        numbers
    }

    /// Forgets everything, and says what was watched.
    pub(crate) fn clear(&mut self) -> Vec<WatchNumber> {
        let numbers = self.numbers.drain().map(|(number, _)| number).collect();
        self.nodes.clear();
        self.root = None;
        self.remembered = 0;
        numbers
    }

    pub(crate) fn set_moving(&mut self, node: NodeId, moving: bool) {
        if let Some(node) = self.nodes.get_mut(&node) {
            node.moving = moving;
        }
    }

    pub(crate) fn is_moving(&self, node: NodeId) -> bool {
        self.nodes.get(&node).is_some_and(|node| node.moving)
    }

    /// From now on, names told of in this directory are remembered.
    pub(crate) fn start_remembering(&mut self, node: NodeId) {
        if let Some(node) = self.nodes.get_mut(&node) {
            node.told.get_or_insert_default();
        }
    }

    pub(crate) fn stop_remembering(&mut self, node: NodeId) {
        if let Some(told) = self.nodes.get_mut(&node).and_then(|node| node.told.take()) {
            self.remembered = self.remembered.saturating_sub(told.len());
        }
    }

    /// Notes that a name is told of, and says whether it was before.
    pub(crate) fn remember(&mut self, node: NodeId, name: &OsStr, inode: Option<u64>) -> Memory {
        let Some(told) = self.nodes.get_mut(&node).and_then(|node| node.told.as_mut()) else {
            return Memory::New;
        };
        if let Some(before) = told.get_mut(name) {
            return Memory::Told(*before);
        }
        if self.remembered < MOST_REMEMBERED {
            told.insert(name.to_owned(), inode);
            self.remembered += 1;
        }
        Memory::New
    }

    /// Whether a name is new to a directory that is yet to be looked through.
    pub(crate) fn is_untold(&self, node: NodeId, name: &OsStr) -> bool {
        let told = self.nodes.get(&node).and_then(|node| node.told.as_ref());
        self.remembered < MOST_REMEMBERED && told.is_some_and(|told| !told.contains_key(name))
    }

    /// Notes that a name is gone.
    pub(crate) fn forget(&mut self, node: NodeId, name: &OsStr) {
        let told = self.nodes.get_mut(&node).and_then(|node| node.told.as_mut());
        if told.and_then(|told| told.remove(name)).is_some() {
            self.remembered = self.remembered.saturating_sub(1);
        }
    }

    fn insert(
        &mut self,
        parent: Option<NodeId>,
        name: OsString,
        number: WatchNumber,
        identity: Identity,
    ) -> NodeId {
        let node = NodeId(self.next);
        self.next += 1;
        self.numbers.insert(number, node);
        let children = HashMap::new();
        let (moving, told) = (false, None);
        self.nodes.insert(node, Node { parent, name, number, identity, children, moving, told });
        node
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn identity(inode: u64) -> Identity {
        Identity { device: 1, inode }
    }

    #[test]
    fn what_lies_in_a_directory_moves_and_goes_with_it() {
        let mut tree = Tree::default();
        let root = tree.plant(1, identity(1));
        let a = tree.add(root, OsStr::new("a"), 2, identity(2));
        let b = tree.add(a, OsStr::new("b"), 3, identity(3));
        let c = tree.add(root, OsStr::new("c"), 4, identity(4));
        assert_eq!(tree.relative(b).unwrap(), Path::new("a/b"));
        assert_eq!(tree.relative(root).unwrap(), Path::new(""));
        tree.relocate(a, c, OsStr::new("x"));
        assert_eq!(tree.relative(b).unwrap(), Path::new("c/x/b"));
        assert!(tree.lies_in(b, c) && !tree.lies_in(c, a));
        assert_eq!(tree.child(root, OsStr::new("a")), None);
        let mut numbers = tree.remove(c);
        numbers.sort_unstable();
        assert_eq!((numbers, tree.len()), (vec![2, 3, 4], 1));
        assert_eq!(tree.by_number(3), None);
        assert_eq!(tree.relative(b), None);
    }

    #[test]
    fn names_are_remembered_only_while_it_is_asked_for() {
        let mut tree = Tree::default();
        let root = tree.plant(1, identity(1));
        let name = OsStr::new("f");
        assert_eq!(tree.remember(root, name, None), Memory::New);
        assert_eq!(tree.remember(root, name, None), Memory::New);
        assert!(!tree.is_untold(root, name));
        tree.start_remembering(root);
        assert!(tree.is_untold(root, name));
        assert_eq!(tree.remember(root, name, Some(7)), Memory::New);
        assert_eq!(tree.remember(root, name, None), Memory::Told(Some(7)));
        assert!(!tree.is_untold(root, name));
        tree.forget(root, name);
        assert_eq!(tree.remember(root, name, None), Memory::New);
        tree.stop_remembering(root);
        assert_eq!((tree.remembered, tree.remember(root, name, None)), (0, Memory::New));
    }
}
