import { vi } from 'vitest'

// Where a test says nothing else, `vi.waitFor` waits as long as `expect.poll`. It has no setting for that.
const { waitFor } = vi
vi.waitFor = (callback, options = 15_000) => waitFor(callback, options)
