import { createMemoryStore } from './memory.ts'
import { describeStore } from '../../../tests/support/store-contract/store-contract.ts'

describeStore('memory', async () => ({ store: createMemoryStore() }))
