//! What holds mouse and keyboard: it knows which keys and buttons are down because of it, and lets go of those an action
//! that failed half-way left down.

use std::collections::BTreeSet;

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, Keycode,
    MOTION_NOTIFY_EVENT,
};
use x11rb::protocol::xtest::ConnectionExt as _;

use super::action::Action;
use super::keymap::Keymap;
use crate::error::Error;
use crate::link::Link;

/// Keys and buttons that are down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(super) keys: BTreeSet<Keycode>,
    pub(super) buttons: BTreeSet<u8>,
}

/// What holds mouse and keyboard.
#[derive(Debug)]
pub(crate) struct Hands {
    pub(super) link: Link,
    pub(super) keymap: Keymap,
    pub(super) held: Held,
}

impl Hands {
    pub(crate) fn new(link: Link) -> Result<Self, Error> {
        link.connection.xtest_get_version(2, 2)?.reply()?;
        // A person's grab of mouse or keyboard, such as an open menu, must not stop us.
        link.connection.xtest_grab_control(true)?;
        Ok(Self { link, keymap: Keymap::default(), held: Held::default() })
    }

    /// What is down because of us.
    pub(crate) fn held(&self) -> Held {
        self.held.clone()
    }

    /// Performs an action. One that fails leaves down only what was down before.
    pub(crate) fn perform(&mut self, action: &Action) -> Result<(), Error> {
        let before = self.held();
        let done = self.attempt(action).and_then(|()| self.link.sync());
        if done.is_err() {
            // The failure itself is what the caller must hear of.
            let _let_go = self.release_since(&before);
        }
        done
    }

    fn attempt(&mut self, action: &Action) -> Result<(), Error> {
        match action {
            Action::MoveTo(place) => self.move_to(*place),
            Action::MoveBy(offset) => self.move_to(self.beside(*offset)?),
            Action::Click { at, button, count } => self.click(*at, *button, *count),
            Action::Press(button) => self.button(button.number(), true),
            Action::Release(button) => self.button(button.number(), false),
            Action::DragTo(place) => self.drag_to(*place),
            Action::DragBy(offset) => self.drag_to(self.beside(*offset)?),
            Action::Scroll { dx, dy } => self.scroll(*dx, *dy),
            Action::Type { text, .. } => self.write(text),
            Action::Keys(names) => self.chord(names),
            Action::KeyDown(name) => self.key_down(name),
            Action::KeyUp(name) => self.key_up(name),
            Action::Wait(duration) => {
                std::thread::sleep(*duration);
                Ok(())
            }
        }
    }

    /// Lets go of everything that was not down before.
    pub(crate) fn release_since(&mut self, before: &Held) -> Result<(), Error> {
        let now = self.held();
        for button in now.buttons.difference(&before.buttons) {
            self.button(*button, false)?;
        }
        for key in now.keys.difference(&before.keys) {
            self.key(*key, false)?;
        }
        self.link.sync()
    }

    pub(super) fn button(&mut self, number: u8, down: bool) -> Result<(), Error> {
        let kind = if down { BUTTON_PRESS_EVENT } else { BUTTON_RELEASE_EVENT };
        self.fake(kind, number, 0, 0)?;
        if down {
            self.held.buttons.insert(number);
        } else {
            self.held.buttons.remove(&number);
        }
        Ok(())
    }

    pub(super) fn key(&mut self, code: Keycode, down: bool) -> Result<(), Error> {
        let kind = if down { KEY_PRESS_EVENT } else { KEY_RELEASE_EVENT };
        self.fake(kind, code, 0, 0)?;
        if down {
            self.held.keys.insert(code);
        } else {
            self.held.keys.remove(&code);
        }
        Ok(())
    }

    pub(super) fn motion(&self, x: i16, y: i16) -> Result<(), Error> {
        self.fake(MOTION_NOTIFY_EVENT, 0, x, y)
    }

    fn fake(&self, kind: u8, detail: u8, x: i16, y: i16) -> Result<(), Error> {
        let (connection, root) = (&self.link.connection, self.link.root);
        connection.xtest_fake_input(kind, detail, x11rb::CURRENT_TIME, root, x, y, 0)?;
        connection.flush()?;
        Ok(())
    }
}
