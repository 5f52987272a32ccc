//! SGLang: the files of its fused mixture-of-experts kernel (`get_moe_configs` in
//! `python/sglang/srt/layers/moe/fused_moe_triton/fused_moe_triton_config.py`), below `configs/triton_X_Y_Z`.

use crate::error::CodegenError;
use crate::lower::LoweredModel;
use crate::target::{Target, TargetOptions, View};

use super::vllm::{Reader, fused_moe};

/// One file of configurations for each size of a mixture of experts, under SGLang's names.
#[derive(Clone, Copy, Debug)]
pub struct Sglang;

impl Target for Sglang {
    fn name(&self) -> &'static str {
        "sglang"
    }

    fn view(&self, lowered: &LoweredModel<'_>, options: &TargetOptions<'_>) -> Result<View, CodegenError> {
        let reader = Reader {
            target: self.name(),
            device: |name| name,
            // SGLang writes Python's [128, 128] into the name.
            suffix: |rows, row| {
                let shape =
                    rows.value(row, "block_shape").map(|shape| shape.replace(' ', "").replace(',', ", "));
                let shape = shape.map(|shape| format!(",block_shape={shape}")).unwrap_or_default();
                let is_quantized = rows.value(row, "per_channel_quant").is_some_and(|value| value == "True");
                shape + if is_quantized { ",per_channel_quant=True" } else { "" }
            },
        };
        fused_moe(&reader, lowered, options)
    }
}
