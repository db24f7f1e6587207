import { Agent, request } from 'node:http'
import type { Line } from '../figure.ts'
import type { Attempts } from './attempts.ts'
import { type LineClient, openConnection } from './line-client.ts'
import type { BenchRemote } from './remote.ts'

import { floor, type Subject } from './subject.ts'

/** The name of a {@link directCaller}. */
export const direct = 'direct'
export const megabytes = 10
const width = 64

/** Calls the tools of a server, through a bridge or without one. */
export interface Caller {
  name: string
  kind: Subject['kind'] | 'direct'
  /** Makes a call with a short answer. */
  echo(): Promise<void>
  /** Makes a call with an answer of ten megabytes; rejects when part of it is missing. */
  large(): Promise<void>
  /** The bridge; undefined without one. */
  client: LineClient | undefined
}

/** Callers of one server: one without a bridge, to which all others are compared. */
export interface CallGroup {
  area: string
  /** Suffix of figure names: the Node, and whether there is a sign-in. */
  on: string
  callers: readonly Caller[]
  /** The bridge that the bars apply to, and the peer for ratios. */
  ours: string
  reference: string
  attempt: Attempts['attempt']
}

/** Returns the line of a group's bars in the table of verdicts; `textOf` formats the value of a system. */
export function lineOf(
  { area, on, callers, ours, reference }: CallGroup,
  title: string,
  textOf: (name: string) => string,
): Line {
  const hasFloor = callers.some(({ kind }) => kind === 'floor')
  return {
    path: `${area}, ${title}, ${on}`,
    ours: textOf(ours),
    ...(hasFloor && { floor: textOf(floor) }),
    peer: `${textOf(reference)} ${reference}`,
  }
}

/** Opens a connection through `subject`, run by `node`. */
export async function openCaller(subject: Subject, node: string): Promise<Caller> {
  const client = subject.start(node)
  await openConnection(client)
  return {
    name: subject.name,
    kind: subject.kind,
    async echo() {
      await client.request('tools/call', { name: 'echo', arguments: { text: 'hello' } })
    },
    async large() {
      const { bytes } = await client.request('tools/call', { name: 'large', arguments: { megabytes } })
      requireLarge(bytes)
    },
    client,
  }
}

/** Ends all their bridges. */
export async function closeCallers(callers: readonly Caller[]): Promise<void> {
  await Promise.all(callers.flatMap(({ client }) => (client === undefined ? [] : client.close())))
}

/** Makes the same calls directly over keep-alive HTTP. */
export function directCaller({ url, accessToken }: BenchRemote): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: width })
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
  }
  const call = (name: string, args: object): Promise<number> => {
    const params = { name, arguments: args }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    return new Promise((resolve, reject) => {
      const sent = request(url, { method: 'POST', agent, headers }, (response) => {
        let bytes = 0
        response.on('data', (chunk: Buffer) => (bytes += chunk.length))
        response.on('end', () => {
          if (response.statusCode === 200) resolve(bytes)
          else reject(new Error(`The server answered ${response.statusCode}.`))
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }
  return {
    name: direct,
    kind: 'direct',
    async echo() {
      await call('echo', { text: 'hello' })
    },
    large: async () => requireLarge(await call('large', { megabytes })),
    client: undefined,
  }
}

function requireLarge(bytes: number): void {
  if (bytes < megabytes * 1024 * 1024) throw new Error('Some of a large result was lost.')
}
