import type { Tool } from '@modelcontextprotocol/server'
import { specTypeSchemas } from '@modelcontextprotocol/server'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { type Finding, note } from '@drawbridge/shared/terminal/finding.ts'
import type { ServerConfig } from '../../../config/setting.ts'
import { reservedScopes } from '../../../core/tokens/scope.ts'
import { publicUrls } from '../../../http/public-urls.ts'
import { defaultToolModule } from '../../../startup/open-tools.ts'
import { openToolModule, readToolModule } from '../../../startup/tool-module.ts'
import { visit } from '../visit.ts'

/** The tools that clients see, or why they are not known. `note`: there may be more. */
export type ListedTools =
  | { kind: 'tools'; tools: readonly Tool[]; note?: Finding }
  | { kind: 'unknown'; why: string; fix: string }

/** What a token is piped in for. */
const tokenFix = 'Pipe an access token for /mcp: doctor --directory NAME --token-stdin < token.txt'

/** The tools of the running server when there is a `token` to ask it with; otherwise those of the module. No tool is called. */
export async function listTools(
  config: ServerConfig,
  runtime: Pick<Runtime, 'fetch'>,
  token: string | undefined,
): Promise<ListedTools> {
  if (token !== undefined) return askServer(config, runtime, token)
  if (config.upstream !== undefined) {
    return { kind: 'unknown', why: 'The tools are those of the server behind this one.', fix: tokenFix }
  }
  const reading = config.tools === undefined ? undefined : await readToolModule(config.tools, reservedScopes)
  if (reading?.kind === 'faulty') {
    return {
      kind: 'unknown',
      why: `The tools module has faults.`,
      fix: 'Run doctor alone, and mend what it says.',
    }
  }
  const module = reading?.kind === 'module' ? reading.module : defaultToolModule(config)
  const tools = openToolModule(module, reservedScopes, () => {}).definitions.map(({ listing }) => listing)
  if (!module.register) return { kind: 'tools', tools }
  return {
    kind: 'tools',
    tools,
    note: note('registered-tools', 'What register adds is only seen by a signed-in client.', tokenFix),
  }
}

async function askServer(
  { baseUrl }: ServerConfig,
  runtime: Pick<Runtime, 'fetch'>,
  token: string,
): Promise<ListedTools> {
  const { resource } = publicUrls(baseUrl)
  const answer = await visit(resource, runtime, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  })
  if (answer.kind === 'unreachable') {
    const why = `${resource} cannot be asked for its tools: ${answer.reason}.`
    return { kind: 'unknown', why, fix: 'Start the server, then run this again.' }
  }
  const result = answer.json?.['result']
  const listed = specTypeSchemas.ListToolsResult['~standard'].validate(result)
  if (!isJsonObject(result) || listed.issues) {
    const why = `${resource} does not list its tools (HTTP ${answer.status}).`
    return { kind: 'unknown', why, fix: 'Pipe an access token that is still valid.' }
  }
  return { kind: 'tools', tools: listed.value.tools }
}
