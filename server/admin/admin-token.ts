import { createHash, timingSafeEqual } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Report } from '../observability/log.ts'
import { parseAdminToken, sharedFileFault } from '../store/admin-token-file.ts'
import { type FollowedFile, followFile } from '../store/followed-file.ts'

export type TokenRefusal = 'no_token' | 'wrong_token'

/** The bearer token of the admin API, following its file. Keeps only its digest in memory. */
export class AdminToken {
  readonly #digest: FollowedFile<Buffer>

  /** Throws if the file at `path` is not private or has no token now; if that happens later, the previous token stays in use. */
  constructor(path: string, { now }: Pick<Runtime, 'now'>, report: Report) {
    this.#digest = followFile(path, {
      now,
      parse(text) {
        const fault = sharedFileFault(path)
        if (fault !== undefined) throw new TypeError(fault)
        return digestOf(parseAdminToken(text))
      },
      changed(change) {
        if (change.kind === 'value') report('admin_token_changed')
        else report('admin_token_unusable', { path, reason: (change.error as Error).message })
      },
    })
  }

  /** Checks an `Authorization` header, in constant time. Undefined: it has the token. */
  refuse(authorization: string | undefined): TokenRefusal | undefined {
    const given = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
    if (given === undefined) return 'no_token'
    return timingSafeEqual(digestOf(given), this.#digest.current()) ? undefined : 'wrong_token'
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
