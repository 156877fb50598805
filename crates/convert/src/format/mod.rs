//! One module for each family of formats.

pub(crate) mod epub;
mod exif;
pub(crate) mod feed;
pub(crate) mod html;
pub(crate) mod image;
pub(crate) mod legacy;
pub(crate) mod notebook;
pub(crate) mod office;
pub(crate) mod package;
pub(crate) mod pdf;
pub(crate) mod structured;
pub(crate) mod table;
