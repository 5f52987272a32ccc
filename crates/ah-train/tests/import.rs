//! Imports tables of many programs, and refuses bad ones.
