import { configureGlobal } from 'fast-check'

// A run draws the same cases each time, so that a change alone can make a test fail. FUZZ_SEED draws others; a failure
// names its seed.
const seed = Number(process.env['FUZZ_SEED'] ?? 1)
if (!Number.isInteger(seed)) throw new Error('FUZZ_SEED is a whole number.')

configureGlobal({ seed })
