import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Sealer } from '../core/seal.ts'
import type { Incoming } from './incoming.ts'

const ttlSeconds = 600

/** State of a call that waits for the client's input, carried by the client. */
export interface RequestStateCodec {
  seal(state: unknown, incoming: Incoming): string
  /** Throws for anything but what `seal` made for this user, client and request within ten minutes. */
  open(sealed: string, incoming: Incoming): unknown
}

/**
 * Seals the state of a multi-round-trip request with the key ring, so every instance opens it and the client can
 * neither read nor change it (MCP 2026-07-28 multi round-trip requests, server requirements 4 and 5). A state may be
 * presented twice within its time: the tool has to make sure that what must happen once does.
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

/** The context of the seal: use, user, client, and the request without the parts that a retry adds or changes. */
function bindingOf({ caller, body }: Incoming): string {
  const messages = (Array.isArray(body) ? body : [body]).filter(isJsonObject)
  const requests = messages.map(({ method, params }) => [
    method,
    isJsonObject(params) ? original(params) : {},
  ])
  const digest = createHash('sha256').update(JSON.stringify(requests, sortMembers)).digest('base64url')
  return JSON.stringify(['mcp request state', caller.user.id, caller.clientId ?? '', digest])
}

/** Parameters that a retry adds or changes. */
const ofOneRound: ReadonlySet<string> = new Set(['_meta', 'inputResponses', 'requestState'])

function original(params: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(params).filter(([name]) => !ofOneRound.has(name)))
}

/** Makes the order of members irrelevant. */
function sortMembers(_key: string, value: unknown): unknown {
  return isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value
}
