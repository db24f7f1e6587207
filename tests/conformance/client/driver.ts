// The client that the conformance suite runs: a local client behind a bridge. The last argument is the URL of the server.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { talkTo } from '../../support/bridge/process/bridge-child.ts'
import { compileCache } from '../../support/compile-cache.ts'
import { type LocalClient, localClient, type LocalEra, sampleOf } from './local-client.ts'
import { createStandInBrowser } from './stand-in-browser.ts'

const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
const revision = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] ?? ''
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as JsonObject
const era = (process.env['DRIVER_ERA'] ?? 'legacy') as LocalEra
const bridge = fileURLToPath(new URL('../../../bridge/launcher.cjs', import.meta.url))
const url = process.argv.at(-1) ?? ''

/** An empty folder: scenarios must not see each other's files. */
const home = mkdtempSync(join(tmpdir(), 'drawbridge-driver-'))
let client: LocalClient | undefined
try {
  const child = spawn(process.execPath, [bridge, url, ...bridgeFlags()], {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      BROWSER: 'true',
      MCP_REMOTE_CONFIG_DIR: home,
      ...compileCache,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const browse = createStandInBrowser()
  child.stderr.on('data', (chunk: Buffer) => {
    process.stderr.write(chunk)
    browse(chunk.toString())
  })
  client = localClient(talkTo(child), era, revision)
  const worked = await play(client)
  await client.close()
  for (const line of client.strayLines)
    process.stderr.write(`not a message on stdout: ${line.slice(0, 200)}\n`)
  process.exitCode = worked && client.strayLines.length === 0 ? 0 : 1
} catch (error) {
  process.stderr.write(`${String(error)}\n`)
  process.exitCode = 1
} finally {
  rmSync(home, { recursive: true, force: true })
}

function bridgeFlags(): string[] {
  const protocol = revision === modernRevision ? 'modern' : 'legacy'
  const flags = ['--protocol', protocol, '--no-open', '--store', 'memory', '--timeout', '20s']
  if (scenario === 'auth/basic-cimd') {
    flags.push('--client-metadata-url', 'https://conformance-test.local/client-metadata.json')
  }
  const { client_id: id, client_secret: secret, private_key_pem: pem } = context
  if (id !== undefined) {
    const file = join(home, 'client.json')
    writeFileSync(file, JSON.stringify({ client_id: id, client_secret: secret }))
    flags.push('--static-oauth-client-info', `@${file}`)
  }
  if (scenario.startsWith('auth/client-credentials')) flags.push('--client-credentials')
  if (typeof pem === 'string') {
    const file = join(home, 'key.pem')
    writeFileSync(file, pem, { mode: 0o600 })
    flags.push('--private-key', file)
  }
  return flags
}

/** Returns whether every request that the scenario expects to succeed did. */
async function play(local: LocalClient): Promise<boolean> {
  const opened = await local.open()
  if (!('result' in opened)) return explain('opening', opened.error.message)
  if (scenario === 'initialize') return true
  const listed = await local.request('tools/list')
  if (!('result' in listed)) return explain('tools/list', listed.error.message)
  if (scenario === 'json-schema-ref-no-deref') return true
  const tools = (listed.result['tools'] ?? []) as JsonObject[]
  if (scenario === 'sep-2322-client-request-state') return playRequestState(local)
  let worked = true
  for (const call of callsFor(tools)) {
    const answer = await local.request('tools/call', call)
    if ('error' in answer && !scenario.startsWith('http-'))
      worked = explain('tools/call', answer.error.message)
  }
  if (scenario === 'http-standard-headers') await sweep(local)
  return worked
}

function callsFor(tools: readonly JsonObject[]): JsonObject[] {
  const given = context['toolCalls']
  if (Array.isArray(given)) return given as JsonObject[]
  return tools.map((tool) => {
    const { name, inputSchema } = tool
    const properties = isJsonObject(inputSchema) ? inputSchema['properties'] : undefined
    const values = Object.entries(isJsonObject(properties) ? properties : {}).map(([key, schema]) => [
      key,
      name === 'json_schema_echo' ? schemaOf(tools) : sampleOf(schema as JsonObject),
    ])
    return { name, arguments: Object.fromEntries(values) as JsonObject }
  })
}

/** Returns what `json_schema_echo` expects: the schema of the other tool, as it arrived here. */
function schemaOf(tools: readonly JsonObject[]): unknown {
  return tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.['inputSchema']
}

async function playRequestState(local: LocalClient): Promise<boolean> {
  const first = local.request('tools/call', { name: 'test_mrtr_echo_state', arguments: {} })
  const beside = local.request('tools/call', { name: 'test_mrtr_unrelated', arguments: {} })
  const answers = [await first, await beside]
  for (const name of ['test_mrtr_no_state', 'test_mrtr_no_result_type'])
    answers.push(await local.request('tools/call', { name, arguments: {} }))
  return answers.every((answer) => 'result' in answer || explain('tools/call', answer.error.message))
}

async function sweep(local: LocalClient): Promise<void> {
  const resources = await local.request('resources/list')
  for (const { uri } of members(resources, 'resources')) await local.request('resources/read', { uri })
  const prompts = await local.request('prompts/list')
  for (const { name } of members(prompts, 'prompts')) await local.request('prompts/get', { name })
}

function members(answer: object, name: string): JsonObject[] {
  const result = 'result' in answer && isJsonObject(answer.result) ? answer.result : {}
  return (result[name] ?? []) as JsonObject[]
}

function explain(what: string, message: string): false {
  process.stderr.write(`${what} failed: ${message}\n`)
  return false
}
