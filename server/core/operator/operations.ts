import { listAttemptsOperation } from './attempt-operation.ts'
import { listClientsOperation, removeClientOperation } from './client-operations.ts'
import { listGrantsOperation } from './grant-operations.ts'
import { revokeGrantsOperation } from './grant-revocation.ts'
import { listKeysOperation, removeKeysOperation, rotateKeysOperation } from './key-operations.ts'
import type { Operation } from './operation.ts'
import { readUsageOperation } from './usage-operation.ts'

/** Operations on what servers share. Those with routes are requests of the admin API, too. */
export const operations: readonly Operation[] = [
  listKeysOperation,
  removeKeysOperation,
  listGrantsOperation,
  revokeGrantsOperation,
  listClientsOperation,
  removeClientOperation,
  rotateKeysOperation,
  listAttemptsOperation,
  readUsageOperation,
]
