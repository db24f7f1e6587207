import { isJsonObject, type JsonObject } from '../../json-object.ts'

/** Names that both revisions share. `tasks` is left out: tasks of 2025-11-25 have no counterpart in 2026-07-28. */
const serverCapabilities = [
  'completions',
  'experimental',
  'extensions',
  'logging',
  'prompts',
  'resources',
  'tools',
] as const

const tasksExtension = 'io.modelcontextprotocol/tasks'

/** Server capabilities as the other revision may see them, without non-objects and without members unknown there. */
export function mapServerCapabilities(capabilities: unknown): JsonObject {
  const given = isJsonObject(capabilities) ? capabilities : {}
  const known = serverCapabilities.filter((name) => isJsonObject(given[name]))
  return withoutTasks(Object.fromEntries(known.map((name) => [name, given[name]])))
}

/**
 * Client capabilities as the other revision may see them: each an object (some clients send `true`, which becomes `{}`), without
 * tasks, and without `roots.listChanged`, whose notification 2026-07-28 does not have.
 */
export function mapClientCapabilities(capabilities: unknown): JsonObject {
  const mapped: JsonObject = {}
  for (const [name, value] of Object.entries(isJsonObject(capabilities) ? capabilities : {})) {
    if (value === true) mapped[name] = {}
    else if (isJsonObject(value)) mapped[name] = value
  }
  if (isJsonObject(mapped['roots'])) {
    const { listChanged: _, ...roots } = mapped['roots']
    mapped['roots'] = roots
  }
  return withoutTasks(mapped)
}

/**
 * The capability that a client must declare to receive this request, in the form of `data.requiredCapabilities` of -32021.
 * Undefined for requests that no client receives.
 */
export function neededCapability(method: string, params: JsonObject | undefined): JsonObject | undefined {
  if (method === 'roots/list') return { roots: {} }
  if (method === 'elicitation/create')
    return { elicitation: params?.['mode'] === 'url' ? { url: {} } : { form: {} } }
  if (method !== 'sampling/createMessage') return undefined
  return {
    sampling: params?.['tools'] === undefined && params?.['toolChoice'] === undefined ? {} : { tools: {} },
  }
}

/** The part of `needed` that `declared` lacks; undefined if nothing is missing. `elicitation: {}` means form mode, as in 2025-06-18. */
export function missingCapability(needed: JsonObject, declared: JsonObject): JsonObject | undefined {
  const missing = Object.entries(needed).filter(([name, members]) => {
    const own = declared[name]
    if (!isJsonObject(own)) return true
    if (!isJsonObject(members)) return false
    const bareForm = name === 'elicitation' && own['url'] === undefined
    return Object.keys(members).some((key) => own[key] === undefined && !(bareForm && key === 'form'))
  })
  return missing.length > 0 ? Object.fromEntries(missing) : undefined
}

/** Between independent requests there is no way to send notifications (MCP 2025-11-25 lifecycle, capability negotiation). */
export function withoutNotifications(capabilities: JsonObject): JsonObject {
  const { logging: _, ...rest } = capabilities
  const { tools, resources, prompts } = rest
  return {
    ...rest,
    ...(isJsonObject(tools) && { tools: { ...tools, listChanged: false } }),
    ...(isJsonObject(resources) && { resources: { ...resources, listChanged: false, subscribe: false } }),
    ...(isJsonObject(prompts) && { prompts: { ...prompts, listChanged: false } }),
  }
}

function withoutTasks(capabilities: JsonObject): JsonObject {
  const { tasks: _, ...rest } = capabilities
  if (!isJsonObject(rest['extensions'])) return rest
  const { [tasksExtension]: __, ...extensions } = rest['extensions']
  return { ...rest, extensions }
}
