import { randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { type JsonRpcMessage, toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Refusal, RefusalOutcome } from '../../../../bridge/http/http-client.ts'
import { networkConfig } from '../http/server-fixture.ts'
import { createHttpClient } from '../../../../bridge/http/undici-client.ts'
import type { StatelessTransportPorts } from '../../../../bridge/transport/stateless-transport.ts'
import type { Context } from '@drawbridge/shared/mcp/pipeline.ts'
import type { Transport } from '../../../../bridge/transport/transport.ts'

/** Ports of a transport that record its actions. */
export interface TransportHarness {
  ports: StatelessTransportPorts
  /** Messages received on the GET stream. */
  unsolicited: JsonRpcMessage[]
  notes: string[]
  refusals: Refusal[]
  /** Durations of all sleeps, in milliseconds. */
  sleeps: number[]
  /** Token of the next requests. */
  token: string | undefined
  /** Decides what follows from a refusal. */
  onRefusal(refusal: Refusal): RefusalOutcome
}

/**
 * Opens it for one test, with real sockets and real time; waits are shortened by the factor `haste`. `silenceMs` is allowed within an
 * answer.
 */
export function createHarness(haste = 1, silenceMs = 10_000): TransportHarness {
  const http = createHttpClient(networkConfig({ headersTimeoutMs: 10_000, bodyTimeoutMs: silenceMs }))
  onTestFinished(() => http.close())
  const harness: TransportHarness = {
    unsolicited: [],
    notes: [],
    refusals: [],
    sleeps: [],
    token: undefined,
    onRefusal: () => 'sign_in_needed',
    ports: {
      http,
      answered: () => {},
      runtime: {
        now: () => Math.floor(Date.now() / 1000),
        randomBytes: (length) => randomBytes(length),
        sleep: (ms) => {
          harness.sleeps.push(ms)
          return new Promise((resolve) => setTimeout(resolve, ms / haste))
        },
      },
      login: {
        tokens: {
          authorization: async (): Promise<string | undefined> =>
            harness.token === undefined ? undefined : `Bearer ${harness.token}`,
          refused: async (refusal) => {
            harness.refusals.push(refusal)
            return harness.onRefusal(refusal)
          },
        },
      },
      unsolicited: (message) => void harness.unsolicited.push(asJson(message)),
      note: (text) => void harness.notes.push(text),
      knownTools: () => [],
      warn: () => {},
      randomId: () => 'own',
    },
  }
  return harness
}

/** Closes a transport when its test is over. */
export function forTest<T extends Transport>(transport: T): T {
  onTestFinished(() => transport.close(500))
  return transport
}

/** Sends one message and returns the messages delivered for it. */
export async function exchange(
  transport: Transport,
  message: JsonRpcMessage | WireMessage,
  options: Partial<Context> = {},
): Promise<Record<string, unknown>[]> {
  const delivered: Record<string, unknown>[] = []
  const wire = 'text' in message ? message : toWireMessage(message)
  await transport.send(wire, {
    deliver: (answer) => void delivered.push(asJson(answer) as unknown as Record<string, unknown>),
    ...options,
  })
  return delivered
}

function asJson(message: WireMessage): JsonRpcMessage {
  return JSON.parse(message.text) as JsonRpcMessage
}
