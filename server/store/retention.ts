/** How long a code is kept after its end, so that presenting it again is still noticed as reuse. */
export const codeRetentionSeconds: number = 24 * 3600

/** How long a device is kept after its end, so that a late poll is told `expired` and not that it is unknown. */
export const deviceRetentionSeconds: number = 3600
