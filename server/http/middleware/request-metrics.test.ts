import { beforeEach, describe, expect, it } from 'vitest'
import type { Endpoint } from '../endpoint.ts'
import { observeRequests } from './request-metrics.ts'

const endpoints: Endpoint[] = [
  { path: '/base/mcp', methods: {}, cors: 'none' },
  { path: '/base/oauth/register/', prefix: true, methods: {}, cors: 'none' },
]

let clock: number
let inFlight: number
let ended: [endpoint: string, status: number, seconds: number][]
beforeEach(() => {
  clock = 5000
  inFlight = 0
  ended = []
})

function observed(answer: () => Promise<Response>): (path: string) => Promise<Response> {
  const observer = {
    requestStarted: () => void (inFlight += 1),
    requestEnded(...end: [string, number, number]) {
      inFlight -= 1
      ended.push(end)
    },
  }
  const fetch = observeRequests(answer, endpoints, observer, () => clock)
  return (path) => fetch(new Request(`https://mcp.example.com${path}`))
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
    await observed(async () => new Response(null, { status: 204 }))(path)
    expect(ended).toEqual([[name, 204, 0]])
  })

  it('is in flight until its answer begins, and takes that long', async () => {
    let resolve = (_response: Response): void => {}
    const answer = new Promise<Response>((settle) => (resolve = settle))
    const answering = observed(() => answer)('/base/mcp')
    expect(inFlight).toBe(1)
    clock += 250
    resolve(new Response('', { status: 401 }))
    await answering
    expect(inFlight).toBe(0)
    expect(ended).toEqual([['/base/mcp', 401, 0.25]])
  })

  it('that fails is not in flight for ever', async () => {
    const fetch = observed(() => Promise.reject(new Error('broken')))
    await expect(fetch('/base/mcp')).rejects.toThrow('broken')
    expect([inFlight, ended]).toEqual([0, [['/base/mcp', 500, 0]]])
  })
})
