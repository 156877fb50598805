//! The mouse.

use std::thread::sleep;
use std::time::Duration;

use x11rb::protocol::xproto::{ConnectionExt as _, KeyButMask};

use super::action::Button;
use super::hands::Hands;
use crate::error::Error;
use crate::options::Point;

/// Buttons that are the wheel.
const UP: u8 = 4;
const DOWN: u8 = 5;
const LEFT: u8 = 6;
const RIGHT: u8 = 7;
/// More clicks of the wheel than this are taken as pixels.
const CLICKS: u64 = 50;
/// Pixels that a click of the wheel moves a page by, about.
const PIXELS_PER_CLICK: u64 = 50;
/// Clicks of the wheel for one action at most.
const MOST_CLICKS: u64 = 200;
/// Clicks of the wheel sent before programs get time to follow.
const WHEEL_BATCH: u64 = 10;
/// Pixels between two places of a drag.
const DRAG_STEP: f64 = 12.0;
/// Pause between them.
const DRAG_PAUSE: Duration = Duration::from_millis(4);
/// Pause between clicks that belong together.
const BETWEEN_CLICKS: Duration = Duration::from_millis(20);
/// Pause after a button goes down and before it goes up, in which programs notice that something is dragged.
const GRIP: Duration = Duration::from_millis(40);
/// A button is down.
const ANY_BUTTON: [KeyButMask; 3] = [KeyButMask::BUTTON1, KeyButMask::BUTTON2, KeyButMask::BUTTON3];

impl Hands {
    /// A place so far from the pointer.
    pub(super) fn beside(&self, offset: Point) -> Result<Point, Error> {
        let pointer = self.link.connection.query_pointer(self.link.root)?.reply()?;
        let (x, y) = (f64::from(pointer.root_x), f64::from(pointer.root_y));
        Ok(Point { x: x + offset.x, y: y + offset.y })
    }

    /// The pixel at a place, if there is one.
    fn pixel(&self, place: Point) -> Result<(i16, i16), Error> {
        let size = self.link.size()?;
        let within = |length: f64, limit: u16| (0.0..f64::from(limit)).contains(&length);
        if !within(place.x, size.width) || !within(place.y, size.height) {
            return Err(Error::OffScreen { x: place.x, y: place.y, size });
        }
        #[expect(clippy::cast_possible_truncation, reason = "screens are smaller than 32768")]
        let whole = |length: f64| length.floor() as i16;
        Ok((whole(place.x), whole(place.y)))
    }

    pub(super) fn move_to(&self, place: Point) -> Result<(), Error> {
        let (x, y) = self.pixel(place)?;
        self.motion(x, y)
    }

    pub(super) fn click(
        &mut self,
        at: Option<Point>,
        button: Button,
        count: u8,
    ) -> Result<(), Error> {
        if let Some(place) = at {
            self.move_to(place)?;
        }
        for click in 0..count {
            if click > 0 {
                // Browsers take two clicks of one millisecond for one.
                self.link.sync()?;
                sleep(BETWEEN_CLICKS);
            }
            self.button(button.number(), true)?;
            self.button(button.number(), false)?;
        }
        Ok(())
    }

    /// Moves as a hand does: programs take a jump for no drag at all.
    pub(super) fn drag_to(&mut self, place: Point) -> Result<(), Error> {
        let (x, y) = self.pixel(place)?;
        let pointer = self.link.connection.query_pointer(self.link.root)?.reply()?;
        let held = ANY_BUTTON.iter().any(|button| pointer.mask.contains(*button));
        if !held {
            self.button(Button::Left.number(), true)?;
            sleep(GRIP);
        }
        let (from_x, from_y) = (f64::from(pointer.root_x), f64::from(pointer.root_y));
        let (by_x, by_y) = (f64::from(x) - from_x, f64::from(y) - from_y);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is small")]
        let steps = (by_x.hypot(by_y) / DRAG_STEP).ceil().clamp(4.0, 80.0) as u32;
        for step in 1..steps {
            let part = f64::from(step) / f64::from(steps);
            #[expect(clippy::cast_possible_truncation, reason = "between two places on the screen")]
            let on_the_way = |from: f64, by: f64| (from + by * part).round() as i16;
            self.motion(on_the_way(from_x, by_x), on_the_way(from_y, by_y))?;
            sleep(DRAG_PAUSE);
        }
        self.motion(x, y)?;
        if !held {
            sleep(GRIP);
            self.button(Button::Left.number(), false)?;
        }
        Ok(())
    }

    pub(super) fn scroll(&mut self, dx: i64, dy: i64) -> Result<(), Error> {
        for (amount, forth, back) in [(dy, UP, DOWN), (dx, LEFT, RIGHT)] {
            let button = if amount > 0 { forth } else { back };
            for click in 1..=clicks(amount) {
                self.button(button, true)?;
                self.button(button, false)?;
                if click % WHEEL_BATCH == 0 {
                    self.link.sync()?;
                    sleep(Duration::from_millis(2));
                }
            }
        }
        Ok(())
    }
}

/// Clicks of the wheel for an amount of either unit.
fn clicks(amount: i64) -> u64 {
    let amount = amount.unsigned_abs();
    if amount <= CLICKS { amount } else { amount.div_ceil(PIXELS_PER_CLICK).min(MOST_CLICKS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_amounts_are_pixels_and_no_amount_is_endless() {
        let expected =
            [(0, 0), (3, 3), (-10, 10), (50, 50), (51, 2), (-500, 10), (i64::MIN, MOST_CLICKS)];
        for (amount, turned) in expected {
            assert_eq!(clicks(amount), turned, "{amount}");
        }
    }
}
