/** How long a code is kept after its end, so that presenting it again is still noticed as reuse. */
export const codeRetentionSeconds: number = 24 * 3600
