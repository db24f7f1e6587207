import { Hono } from 'hono'
import { beforeEach, describe, expect, it } from 'vitest'
import { createHttpApp } from '../app.ts'
import type { Endpoint, HttpEnv } from '../endpoint.ts'
import { requestMetrics } from './request-metrics.ts'

let clock: number
let inFlight: number
let ended: [endpoint: string, status: number, seconds: number][]
beforeEach(() => {
  clock = 5000
  inFlight = 0
  ended = []
})

const observer = {
  requestStarted: () => void (inFlight += 1),
  requestEnded(...end: [string, number, number]) {
    inFlight -= 1
    ended.push(end)
  },
}

describe('a request', () => {
  it.each([
    ['/base/mcp', '/base/mcp'],
    ['/base/mcp/', '/base/mcp'],
    ['/base/mcp?session=1', '/base/mcp'],
    ['/base/oauth/register/8f14', '/base/oauth/register/*'],
    ['/base/oauth/register/', 'other'],
    ['/base/oauth/register/8f14/more', 'other'],
    ['/mcp', 'other'],
    ['/wp-login.php', 'other'],
  ])('of %s counts as %s: names come from the table, never from the request', async (path, name) => {
    const GET = (): Response => new Response(null, { status: 204 })
    const endpoints: Endpoint[] = [
      { path: '/base/mcp', methods: { GET }, cors: 'none' },
      { path: '/base/oauth/register/', prefix: true, methods: { GET }, cors: 'none' },
    ]
    const baseUrl = 'https://mcp.example.com'
    const createContext = () => ({ id: 'request-1', address: undefined, report: () => {} })
    await createHttpApp(endpoints, { baseUrl, createContext, observer })(new Request(baseUrl + path))
    expect(ended).toEqual([[name, name === 'other' ? 404 : 204, expect.any(Number)]])
  })

  function observed(answer: () => Response | Promise<Response>): Promise<Response> {
    const app = new Hono<HttpEnv>().use(requestMetrics(observer, () => clock)).get('/', answer)
    return Promise.resolve(app.onError(() => new Response('', { status: 500 })).request('/'))
  }

  it('is in flight until its answer begins, and takes that long', async () => {
    let resolve = (_response: Response): void => {}
    const promise = new Promise<Response>((settle) => (resolve = settle))
    const answering = observed(() => promise)
    expect(inFlight).toBe(1)
    clock += 250
    resolve(new Response('', { status: 401 }))
    await answering
    expect(inFlight).toBe(0)
    expect(ended).toEqual([['other', 401, 0.25]])
  })

  it('that fails is not in flight for ever', async () => {
    await observed(() => Promise.reject(new Error('broken')))
    expect([inFlight, ended]).toEqual([0, [['other', 500, 0]]])
  })
})
