import { PassThrough } from 'node:stream'
import { beforeEach, expect, it } from 'vitest'
import { until } from '../../tests/support/until.ts'
import type { HttpResponse } from '../http/http-client.ts'
import { GetStream } from './get-stream.ts'
import { TransportError } from './transport.ts'

let opened: (string | undefined)[]
let signals: AbortSignal[]
let messages: unknown[]
let notes: string[]
let waits: number[]
let [lost, silences]: number[] = []
let answers: (() => Promise<HttpResponse>)[]
let stream: GetStream

beforeEach(() => {
  ;[opened, signals, messages, notes, waits, answers] = [[], [], [], [], [], []]
  ;[lost, silences] = [0, 0]
})

const response = (status: number, type: string, body = new PassThrough()): HttpResponse => ({
  url: 'https://mcp.example/mcp',
  status,
  headers: { 'content-type': type },
  body,
})
/** A stream of these events, which ends behind them. */
const events =
  (...lines: string[]) =>
  async (): Promise<HttpResponse> => {
    const body = new PassThrough()
    body.end(lines.map((line) => `${line}\n\n`).join(''))
    return response(200, 'text/event-stream', body)
  }
/** A stream that stays open and silent. */
const silent = async (): Promise<HttpResponse> => response(200, 'text/event-stream')
const status = (code: number) => async (): Promise<HttpResponse> => response(code, 'application/json')
const failing = (error: Error) => async (): Promise<never> => {
  throw error
}
const data = (value: unknown): string => `data: ${JSON.stringify(value)}`
const notice = (name: string): object => ({ jsonrpc: '2.0', method: name })

/** Opens a stream whose requests get these answers in turn; later ones stay open. */
function open(...given: (() => Promise<HttpResponse>)[]): GetStream {
  answers = given
  stream = new GetStream({
    runtime: {
      now: () => 0,
      sleep: async (ms: number) => void waits.push(ms),
      randomBytes: (length: number) => new Uint8Array(length),
    },
    note: (text) => void notes.push(text),
    open: (lastEventId, signal) => {
      opened.push(lastEventId)
      signals.push(signal)
      return (answers.shift() ?? silent)()
    },
    message: ({ text }) => void messages.push(JSON.parse(text)),
    sessionLost: () => void (lost = (lost ?? 0) + 1),
    silent: () => void (silences = (silences ?? 0) + 1),
  })
  return stream
}

/** Waits until nothing but an open stream, or its end, is left. */
const settled = async (requests: number): Promise<void> => {
  await until(() => opened.length === requests, `request ${requests}`)
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

it('the GET stream delivers messages, those of a batch one by one, and no other events', async () => {
  open(
    events(
      data(notice('a')),
      data([notice('b'), notice('c')]),
      'event: other\ndata: {"jsonrpc":"2.0","method":"d"}',
    ),
  )
  await settled(2)
  expect(messages).toEqual([notice('a'), notice('b'), notice('c')])
  expect([stream.mayAnswer, silences, lost]).toEqual([true, 0, 0])
  stream.close()
})

it('the GET stream resumes after its last event, even after a stream without ids', async () => {
  open(events(`id: 1\n${data(notice('a'))}`, `id: 2\n${data(notice('b'))}`), events(data(notice('c'))))
  await settled(3)
  expect(opened).toEqual([undefined, '2', '2'])
  expect(notes.filter((note) => note === 'GET stream ended')).toHaveLength(2)
  expect(waits).toHaveLength(2)
  stream.close()
})

it('the GET stream waits as long as the server asks', async () => {
  open(events('retry: 2500', data(notice('a'))), events(data(notice('b'))))
  await settled(3)
  expect(waits).toEqual([2500, 2500])
  stream.close()
})

it.each<[what: string, answer: () => Promise<HttpResponse>]>([
  ['405', status(405)],
  ['404', status(404)],
  ['204', status(204)],
  ['200 of another type', status(200)],
  ['forbidden', failing(new TransportError('forbidden', 'no'))],
])('the GET stream is not requested again after %s', async (_what, answer) => {
  open(answer)
  await settled(1)
  expect([stream.mayAnswer, silences, lost, waits]).toEqual([false, 1, 0, []])
  stream.revive()
  await settled(1)
})

it.each<[what: string, answer: () => Promise<HttpResponse>]>([
  ['500', status(500)],
  ['503', failing(new TransportError('unavailable', 'no'))],
  ['429', failing(new TransportError('rate_limited', 'no'))],
  ['an end', failing(new TransportError('lost', 'no'))],
  ['a fault of the network', failing(new Error('reset'))],
])(
  'the GET stream is requested again after %s, and reports its silence until then',
  async (_what, answer) => {
    open(answer)
    await settled(2)
    expect([stream.mayAnswer, silences, waits.length]).toEqual([true, 1, 1])
    stream.close()
  },
)

it('a 404 after the GET stream was open means that the session is lost', async () => {
  open(events(data(notice('a'))), status(404))
  await settled(2)
  expect([lost, stream.mayAnswer, silences]).toEqual([1, false, 1])
})

it('a GET stream refused for its token opens again once there is one, once', async () => {
  open(failing(new TransportError('sign_in_needed', 'no')))
  await settled(1)
  expect([stream.isRefused, stream.mayAnswer]).toEqual([true, false])
  stream.revive()
  stream.revive()
  await settled(2)
  expect([stream.isRefused, stream.mayAnswer]).toEqual([false, true])
  stream.close()
  const other = open(failing(new TransportError('sign_in_needed', 'no')))
  await settled(3)
  other.close()
  other.revive()
  await settled(3)
})

it('a GET stream that may be dead is reopened after its last event', async () => {
  open(events(`id: 7\n${data(notice('a'))}`))
  await settled(2)
  stream.reopen()
  await until(() => signals[1]?.aborted, 'the end of the request')
  stream.close()
})

it('a closed GET stream delivers nothing more', async () => {
  const body = new PassThrough()
  open(async () => response(200, 'text/event-stream', body))
  await settled(1)
  stream.close()
  expect(signals[0]?.aborted).toBe(true)
  body.end(`${data(notice('late'))}\n\n`)
  await settled(1)
  expect([messages, silences, waits]).toEqual([[], 1, []])
})
