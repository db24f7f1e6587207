// An MCP server over stdio controlled by its arguments: --era legacy|modern|both, --die
// start|discover|initialize|initialized, --silent discover|all, --ignore eof|term, --rubbish, --lists nothing, --reads TOOL
// (marked as read-only).
import { spawn } from 'node:child_process'
import { closeSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const settings = new Map()
for (const [index, each] of process.argv.entries())
  if (each.startsWith('--'))
    settings.set(each.slice(2), [...(settings.get(each.slice(2)) ?? []), process.argv[index + 1]])
const is = (name, value) => settings.get(name)?.includes(value) === true
const era = settings.get('era')?.[0] ?? 'both'

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const open = new Map()
const cancelled = []
const told = []
const watched = new Set()
const listens = new Map()
const asked = new Map()
let nextAsk = 0
let clientCapabilities
let logLevel
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
let isModern = false
let extraTool = false

const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: {},
  logging: {},
  completions: {},
  experimental: { scripted: { answer: 42 } },
}
const serverInfo = { name: 'scripted', version: '7', title: 'Scripted' }
const instructions = 'Do as told.'
const text = (value) => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
})
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

function notify(method, params = {}) {
  if (!isModern || method === 'notifications/progress' || method === 'notifications/message')
    return send({ method, params })
  for (const id of listens.keys())
    send({ method, params: { ...params, _meta: { 'io.modelcontextprotocol/subscriptionId': id } } })
}

function ask(method, params) {
  const id = `ask-${(nextAsk += 1)}`
  send({ id, method, params })
  return new Promise((resolve) => asked.set(id, resolve))
}

const tools = {
  echo: async ({ value, ms = 0 }, { params, id }) => {
    const progressToken = params._meta?.progressToken
    for (const step of [1, 2]) {
      if (progressToken !== undefined)
        notify('notifications/progress', { progressToken, progress: step, total: 2, message: String(value) })
      if (ms > 0) await wait(Math.random() * ms)
    }
    return {
      ...text(String(value)),
      structuredContent: { value, pid: process.pid, id },
      unheard: { of: [1] },
      _meta: { 'example/own': 1 },
    }
  },
  about: () => ({
    ...text('about'),
    structuredContent: {
      pid: process.pid,
      env: process.env,
      argv: process.argv,
      cwd: process.cwd(),
      clientCapabilities,
      logLevel,
      isModern,
      watched: [...watched],
    },
  }),
  meta: (_input, { params }) => ({ ...text('meta'), structuredContent: { meta: params._meta ?? {} } }),
  hang: () => new Promise(() => {}),
  cancelled: () => text({ cancelled: cancelled.length, open: open.size }),
  die: ({ code = 3 }) => process.exit(code),
  answer_and_die: () => {
    setImmediate(() => process.exit(0))
    return text('last words')
  },
  fail: () => ({ ...text('It went wrong.'), isError: true }),
  refuse: () => {
    throw Object.assign(new Error('Refused.'), { code: -32000, data: { why: 'because' } })
  },
  ask: async ({
    method = 'elicitation/create',
    params = { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } },
  }) => text(await ask(method, params)),
  input: async (_input, { params }) => {
    if (params.inputResponses)
      return text({ inputResponses: params.inputResponses, requestState: params.requestState })
    return {
      resultType: 'input_required',
      inputRequests: {
        sure: {
          method: 'elicitation/create',
          params: { mode: 'form', message: 'Sure?', requestedSchema: { type: 'object', properties: {} } },
        },
      },
      requestState: 'state of the process',
    }
  },
  log: ({ level = 'info', data }, { params }) => {
    const minimum = isModern ? params._meta?.['io.modelcontextprotocol/logLevel'] : (logLevel ?? 'debug')
    const isLogged = minimum !== undefined && levels.indexOf(level) >= levels.indexOf(minimum)
    if (isLogged) notify('notifications/message', { level, data, logger: 'scripted' })
    return text('logged')
  },
  touch: ({ uri }) => {
    if (isModern || watched.has(uri)) notify('notifications/resources/updated', { uri })
    return text('touched')
  },
  told: () => text(told),
  say: ({ method, params }) => {
    send({ method, params })
    return text('said')
  },
  add_tool: () => {
    extraTool = true
    notify('notifications/tools/list_changed')
    return text('added')
  },
  write: ({ to = 'stderr', value, times = 1 }) => {
    for (let index = 0; index < times; index += 1) process[to].write(value.replaceAll('#', String(index)))
    return text('written')
  },
  long_line: ({ place }, { id }) => {
    const result = text('x'.repeat(17 * 1024 * 1024))
    const message = place === 'behind' ? { result, jsonrpc: '2.0', id } : { jsonrpc: '2.0', id, result }
    process.stdout.write(`${JSON.stringify(message)}\n`)
    return new Promise(() => {})
  },
  stop_reading: () => {
    setTimeout(() => process.kill(process.pid, 'SIGSTOP'), 50)
    return text('no more')
  },
  close_output: () => {
    process.stdout.end()
    return new Promise(() => {})
  },
  close_input: () => {
    process.stdin.destroy()
    closeSync(0)
    setInterval(() => {}, 1000)
    return text('closed')
  },
  grandchild: () => {
    const child = spawn(
      '/bin/sh',
      ['-c', "trap '' TERM; while :; do sleep 1; done", String(settings.get('mark'))],
      { stdio: 'ignore' },
    )
    return text({ pid: child.pid })
  },
  read: ({ path }) => {
    try {
      return text(readFileSync(path, 'utf8'))
    } catch (error) {
      return text(String(error.code))
    }
  },
  secret_admin: () => text('secret'),
  regional: ({ region }) => text(region),
}

const handlers = {
  ping: () => ({}),
  'tools/list': ({ cursor }) => {
    if (is('lists', 'nothing')) throw Object.assign(new Error('No list.'), { code: -32603 })
    const names = [...Object.keys(tools), ...(extraTool ? ['extra'] : [])]
    const half = names.length >> 1
    const listed = (cursor === 'rest' ? names.slice(half) : names.slice(0, half)).map((name) => ({
      name,
      description: `Does ${name}.`,
      inputSchema: {
        type: 'object',
        ...(name === 'regional' && { properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }),
      },
      annotations: is('reads', name) ? { readOnlyHint: true } : undefined,
      'x-unheard': 1,
    }))
    return {
      tools: listed,
      ...(cursor !== 'rest' && { nextCursor: 'rest' }),
      ...(isModern && { ttlMs: 1000, cacheScope: 'public' }),
    }
  },
  'tools/call': (params, message) => {
    const tool = params.name === 'extra' && extraTool ? () => text('extra') : tools[params.name]
    if (!tool) throw Object.assign(new Error(`no such tool here: ${params.name}`), { code: -32602 })
    return tool(params.arguments ?? {}, message)
  },
  'resources/list': () => ({
    resources: [{ uri: 'test://one', name: 'one' }],
    ...(isModern && { ttlMs: 5, cacheScope: 'public' }),
  }),
  'resources/read': ({ uri }) => {
    if (uri === 'test://none')
      throw Object.assign(new Error('No such resource.'), { code: isModern ? -32602 : -32002, data: { uri } })
    return {
      contents: [{ uri, text: 'one', 'x-unheard': 1 }],
      ...(isModern && { ttlMs: 5, cacheScope: 'public' }),
    }
  },
  'resources/subscribe': ({ uri }) => (watched.add(uri), {}),
  'resources/unsubscribe': ({ uri }) => (watched.delete(uri), {}),
  'prompts/list': () => ({
    prompts: [{ name: 'hello' }],
    ...(isModern && { ttlMs: 5, cacheScope: 'public' }),
  }),
  'prompts/get': ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: name } }] }),
  'completion/complete': () => ({ completion: { values: ['a', 'b'] } }),
  'logging/setLevel': ({ level }) => {
    if (!levels.includes(level)) throw Object.assign(new Error('No such level.'), { code: -32602 })
    logLevel = level
    return {}
  },
  'tasks/list': () => ({ tasks: [] }),
  'events/list': () => ({ events: [] }),
  'example/own': (params) => ({ got: params.value ?? null }),
}

async function answer(message) {
  const { id, method, params = {} } = message
  if (method === 'server/discover') {
    if (is('die', 'discover')) process.exit(1)
    if (is('silent', 'discover')) return
    if (era === 'legacy') return send({ id, error: { code: -32601, message: 'Method not found' } })
    isModern = true
    const _meta = { 'io.modelcontextprotocol/serverInfo': serverInfo }
    return send({
      id,
      result: {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities,
        instructions,
        ttlMs: 0,
        cacheScope: 'private',
        _meta,
      },
    })
  }
  if (method === 'initialize') {
    if (is('die', 'initialize')) process.exit(1)
    if (era === 'modern') return send({ id, error: { code: -32601, message: 'Method not found' } })
    isModern = false
    clientCapabilities = params.capabilities
    return send({
      id,
      result: { protocolVersion: params.protocolVersion, capabilities, serverInfo, instructions },
    })
  }
  if (method === 'subscriptions/listen') {
    for (const uri of params.notifications.resourceSubscriptions ?? []) watched.add(uri)
    listens.set(id, params.notifications)
    return send({
      method: 'notifications/subscriptions/acknowledged',
      params: {
        notifications: params.notifications,
        _meta: { 'io.modelcontextprotocol/subscriptionId': id },
      },
    })
  }
  open.set(id, message)
  try {
    const handler = handlers[method]
    if (!handler) throw Object.assign(new Error('Method not found'), { code: -32601 })
    const result = await handler(params, message)
    if (open.delete(id)) send({ id, result: isModern ? { resultType: 'complete', ...result } : result })
  } catch (error) {
    if (open.delete(id))
      send({ id, error: { code: error.code ?? -32603, message: error.message, data: error.data } })
  }
}

function receive(line) {
  const message = JSON.parse(line)
  if (message.method === undefined) {
    asked.get(message.id)?.(message.result ?? { error: message.error })
    asked.delete(message.id)
  } else if (message.id !== undefined) {
    void answer(message)
  } else if (message.method === 'notifications/cancelled') {
    const { requestId } = message.params
    if (open.delete(requestId)) cancelled.push(requestId)
    listens.delete(requestId)
  } else if (message.method === 'notifications/initialized' && is('die', 'initialized')) {
    process.exit(1)
  } else told.push(message.method)
}

if (is('die', 'start')) process.exit(1)
if (settings.has('rubbish')) process.stdout.write('Welcome!\n{"jsonrpc":"2.0"}\n[]\n')
if (is('ignore', 'term')) process.on('SIGTERM', () => {})
if (is('ignore', 'eof')) setInterval(() => {}, 1000)
if (!is('silent', 'all')) {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', receive)
  lines.on('close', () => {
    if (!is('ignore', 'eof')) process.exit(0)
  })
} else {
  process.stdin.resume().on('end', () => process.exit(0))
}
