import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { hasPythonPeers } from '../peers/python/python-peer.ts'
import { startPythonServer } from '../peers/python/python-server.ts'
import type { ServingProcess } from '../peers/serving-process.ts'
import { freePort } from '../support/server/free-port.ts'
import { type BridgeHome, type BridgeProcess, createBridgeHome, startBridge } from './bridge-process.ts'
import { startGateway } from './gateway-server.ts'
import { type CollectedSpan, type OtlpCollector, startOtlpCollector } from '../support/otlp-collector.ts'
import { createPerson, type Person } from './person.ts'
import { callTool, postMcp, registerPlainClient } from './plain-client.ts'
import { until } from '../support/until.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const [server, client] = [2, 3]
/** Arguments and results, which nothing may tell. */
const said = 'what-a-person-said'

describe.skipIf(!hasPythonPeers())('with a collector, the bridge and FastMCP', { timeout: 60_000 }, () => {
  let collector: OtlpCollector
  let door: ServerProcess
  let upstream: ServingProcess
  let home: BridgeHome
  let person: Person
  let bridges: Readonly<Record<'legacy' | 'modern', BridgeProcess>>

  beforeAll(async () => {
    collector = await startOtlpCollector()
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/mcp`
    const document = { url, identity: ['bearer'], tools: { deny: ['delete_*'] } }
    door = await startGateway(document, {}, collector.environment)
    upstream = await startPythonServer({
      environment: 'fastmcp-4',
      script: 'fastmcp_server.py',
      port,
      issuer: door.baseUrl,
    })
    person = await createPerson(door)
    home = createBridgeHome()
    const start = (era: 'legacy' | 'modern'): BridgeProcess => startBridge(door.mcpUrl, home, { era })
    const legacy = start('legacy')
    await legacy.open()
    await fetch(await person.allow(await legacy.link()))
    await until(async () => (await legacy.tools()).includes('span'), 'the tools')
    bridges = { legacy, modern: start('modern') }
    await bridges.modern.open()
  })
  afterAll(async () => {
    await Promise.all(Object.values(bridges ?? {}).map((bridge) => bridge.close()))
    home?.remove()
    await door?.close()
    await upstream?.close()
    await collector?.close()
  })

  const spanOf = (
    name: string,
    service: string,
    kind: number,
    parent?: CollectedSpan,
  ): Promise<CollectedSpan> =>
    collector.span(
      (span) =>
        span.name === name &&
        span.service === service &&
        span.kind === kind &&
        (parent === undefined || span.parentSpanId === parent.spanId),
    )

  it.each([
    ['legacy', '2025-11-25', 'a'],
    ['modern', '2026-07-28', 'b'],
  ] as const)(
    'SEP-414: the trace of a %s client goes on behind the bridge at the server and the upstream',
    async (era, revision, digit) => {
      const traceparent = `00-${digit.repeat(32)}-${'1'.repeat(16)}-01`
      const params = { name: 'span', arguments: { note: said }, _meta: { traceparent } }
      const [traceId, seen] = textOf(await bridges[era].request('tools/call', params)).split(' ')
      const inTrace = (span: CollectedSpan): boolean => span.traceId === traceId
      expect(traceId).toBe(digit.repeat(32))
      const last = await collector.span((span) => span.spanId === seen)
      await until(
        () => collector.spans().filter((span) => inTrace(span) && isCall(span)).length === 2,
        '2 spans',
      )
      const parentOf = ({ parentSpanId }: CollectedSpan): CollectedSpan | undefined =>
        collector.spans().find((span) => inTrace(span) && span.spanId === parentSpanId)
      const chain = [last]
      for (let at = parentOf(last); at; at = parentOf(at)) chain.unshift(at)
      expect(chain[0]?.parentSpanId).toBe('1'.repeat(16))
      expect(chain.map(({ service, kind, name }) => [service, kind, name])).toEqual([
        ['drawbridge-server', server, 'tools/call span'],
        ['drawbridge-server', client, 'tools/call span'],
      ])
      expect(chain[0]?.attributes).toMatchObject({
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': 'span',
        'gen_ai.operation.name': 'execute_tool',
        'enduser.id': expect.any(String) as string,
        'mcp.protocol.version': revision,
      })
      // The span includes the work before the message was read.
      await spanOf('store findAccessToken', 'drawbridge-server', client, chain[0])
      const recordInTrace = () => collector.records().find((each) => inTrace(each as never))
      await until(() => recordInTrace() !== undefined, 'the record of the call')
      const record = recordInTrace()
      expect([record?.eventName, record?.spanId]).toEqual(['drawbridge.tool_called', chain[0]?.spanId])
      expect(record?.attributes).toMatchObject({ tool: 'span', outcome: 'ok', audit: true })
    },
  )

  it('spans and the metric tell how a failed or refused call ended', async () => {
    for (const name of ['fail', 'delete_everything']) await bridges.legacy.call(name)
    await postMcp(door, { method: 'tools/list' }, { authorization: `Bearer ${said}` })
    for (const kind of [server, client]) {
      const failed = await spanOf('tools/call fail', 'drawbridge-server', kind)
      if (kind === server) expect(failed.attributes['error.type']).toBe('tool_error')
    }
    const refused = await spanOf('tools/call delete_everything', 'drawbridge-server', server)
    expect(refused.attributes['error.type']).toBe('refused_rule')
    expect(refused.events).toEqual([{ name: 'tool_called', attributes: { outcome: 'refused_rule' } }])
    const stranger = await spanOf('POST /mcp', 'drawbridge-server', server)
    expect(stranger.attributes).toMatchObject({ 'error.type': '401', 'http.response.status_code': 401 })
    const points = (): unknown[] => collector.points('mcp.server.operation.duration')
    const fail = { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'fail', 'error.type': 'tool_error' }
    await until(
      () => points().some((point) => isJsonObject(point) && point['error.type'] === 'tool_error'),
      'points',
    )
    expect(points()).toContainEqual(expect.objectContaining(fail))
  })

  it('telemetry holds no argument, result, token, email address or secret', () => {
    const text = collector.text()
    expect(text).toMatch(/\/v1\/traces .*\n/)
    expect(text).toMatch(/\/v1\/logs .*signed_in/)
    expect(text).toMatch(/\/v1\/metrics /)
    expect(door.secrets.names().size).toBeGreaterThan(3)
    expect(door.secrets.findIn(text)).toEqual([])
    expect(text).not.toContain(person.email)
    expect(text).not.toContain(said)
    expect(text).not.toContain('It failed')
  })
})

it('a call at the server is one span at the collector, in the trace that its client names', async () => {
  const collector = await startOtlpCollector()
  const door = await startServer({}, { environment: collector.environment })
  const { access_token: token } = await (await registerPlainClient(door)).connect(await createPerson(door))
  const traceparent = `00-${'c'.repeat(32)}-${'1'.repeat(16)}-01`
  const params = { name: 'whoami', arguments: {}, _meta: { traceparent } }
  await postMcp(door, { method: 'tools/call', params }, { authorization: `Bearer ${token}` })
  const { traceId, parentSpanId, kind } = await collector.span(isCall)
  expect([traceId, parentSpanId, kind]).toEqual(['c'.repeat(32), '1'.repeat(16), server])
  await door.close()
  await collector.close()
})

it('a collector that never answers fails and delays no call, and the server reports it once', async () => {
  const collector = await startOtlpCollector({ isSilent: true })
  const queue = {
    OTEL_BSP_MAX_QUEUE_SIZE: '8',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4',
    OTEL_EXPORTER_OTLP_TIMEOUT: '500',
  }
  const door = await startServer({}, { environment: { ...collector.environment, ...queue } })
  const person = await createPerson(door)
  const { access_token: token } = await (await registerPlainClient(door)).connect(person)
  for (let call = 0; call < 20; call += 1) {
    const began = performance.now()
    await callTool(door, token, 'whoami')
    expect(performance.now() - began).toBeLessThan(2000)
  }
  await door.waitForEvent('telemetry_failed')
  const began = performance.now()
  await door.kill('SIGTERM')
  expect(performance.now() - began).toBeLessThan(6000)
  expect(door.events('telemetry_failed')).toHaveLength(1)
  await collector.close()
  await door.close()
})

const isCall = ({ name }: CollectedSpan): boolean => name.startsWith('tools/call')

function textOf(answer: Awaited<ReturnType<BridgeProcess['request']>>): string {
  if ('error' in answer) return answer.error.message
  return (answer.result['content'] as { text: string }[]).map(({ text }) => text).join('\n')
}
