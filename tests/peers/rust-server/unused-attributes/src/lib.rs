//! `#[instrument]` without effect: nobody reads traces here, and the real one compiles a whole parser of Rust for it.
use proc_macro::TokenStream;

#[proc_macro_attribute]
pub fn instrument(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    item
}
