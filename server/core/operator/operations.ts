import { listAttemptsOperation } from './attempt-operation.ts'
import { listClientsOperation, removeClientOperation } from './client-operations.ts'
import { listGrantsOperation, revokeGrantsOperation } from './grant-operations.ts'
import { rotateKeysOperation } from './key-operations.ts'
import type { Operation } from './operation.ts'

/** Operations that are both a command and a request of the admin API. */
export const operations: readonly Operation[] = [
  listGrantsOperation,
  revokeGrantsOperation,
  listClientsOperation,
  removeClientOperation,
  rotateKeysOperation,
  listAttemptsOperation,
]
