import { vi } from 'vitest'

// By default `vi.waitFor` waits as long as `expect.poll`. There is no setting for that.
const { waitFor } = vi
vi.waitFor = (callback, options = 15_000) => waitFor(callback, options)
