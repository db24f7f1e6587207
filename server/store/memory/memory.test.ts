import { createMemoryStore } from './memory.ts'
import { describeStore } from '../contract/store-contract.ts'

describeStore('memory', async () => ({ store: createMemoryStore() }))
