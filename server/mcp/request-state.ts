import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Sealer } from '../core/seal.ts'
import type { Incoming } from './incoming.ts'

const ttlSeconds = 600

/** State of a call that waits for the client's input, carried by the client. */
export interface RequestStateCodec {
  seal(state: unknown, incoming: Incoming): string
  /** Throws for anything but what `seal` made for this very user, client and request within ten minutes. */
  open(sealed: string, incoming: Incoming): unknown
}

/**
 * Seals the state of a multi-round-trip request under the key ring, so that every instance opens it and the client can
 * neither read nor change it (MCP 2026-07-28 multi round-trip requests, server requirements 4 and 5). It may come twice
 * within its time: what must happen once is for the tool to see to.
 */
export function createRequestStateCodec(sealer: Sealer, runtime: Pick<Runtime, 'now'>): RequestStateCodec {
  return {
    seal: (state, incoming) =>
      sealer.seal(JSON.stringify({ state, until: runtime.now() + ttlSeconds }), bindingOf(incoming)),
    open(sealed, incoming) {
      const text = sealer.open(sealed, bindingOf(incoming))
      const opened: unknown = text === undefined ? undefined : JSON.parse(text)
      if (!isJsonObject(opened) || Number(opened['until']) <= runtime.now())
        throw new RangeError('The request state was not made here, for this request, or is too old.')
      return opened['state']
    },
  }
}

/** What the state belongs to: the use, the user, the client, and the request without what a retry adds or may change. */
function bindingOf({ caller, body }: Incoming): string {
  const messages = (Array.isArray(body) ? body : [body]).filter(isJsonObject)
  const requests = messages.map(({ method, params }) => [
    method,
    isJsonObject(params) ? original(params) : {},
  ])
  const digest = createHash('sha256').update(JSON.stringify(requests, sortMembers)).digest('base64url')
  return JSON.stringify(['mcp request state', caller.user.id, caller.clientId ?? '', digest])
}

/** What a retry adds, or may have another value of. */
const ofOneRound: ReadonlySet<string> = new Set(['_meta', 'inputResponses', 'requestState'])

function original(params: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(params).filter(([name]) => !ofOneRound.has(name)))
}

/** A client may write the members of an object in another order the next time. */
function sortMembers(_key: string, value: unknown): unknown {
  return isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value
}
