import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'

/** A scenario's input for a client. */
export interface ScenarioSetting {
  url: string
  scenario: string
  revision: string
  context: JsonObject
  /** An empty folder: scenarios must not see each other's files. */
  home: string
}

/** The command that starts a bridge. */
export interface BridgeCommand {
  argv: readonly string[]
  environment: Readonly<Record<string, string>>
}

const metadataUrl = 'https://conformance-test.local/client-metadata.json'

/**
 * Returns the command that starts a bridge for a scenario. `bridge` is the script to run; a file of mcp-remote uses its own flags,
 * so that its known results show whether the driver is right.
 */
export function bridgeCommand(bridge: string, setting: ScenarioSetting): BridgeCommand {
  const isPeer = bridge.includes('mcp-remote')
  const flags = isPeer ? peerFlags(setting) : ourFlags(setting)
  return {
    argv: [process.execPath, bridge, setting.url, ...flags],
    environment: {
      PATH: process.env['PATH'] ?? '',
      HOME: setting.home,
      BROWSER: 'true',
      MCP_REMOTE_CONFIG_DIR: setting.home,
    },
  }
}

function ourFlags({ scenario, revision, context, home }: ScenarioSetting): string[] {
  const protocol = revision === modernRevision ? 'modern' : 'legacy'
  const flags = ['--protocol', protocol, '--no-open', '--store', 'memory', '--timeout', '20s']
  if (scenario === 'auth/basic-cimd') flags.push('--client-metadata-url', metadataUrl)
  const { client_id: id, client_secret: secret, private_key_pem: pem } = context
  if (id !== undefined) {
    const client = join(home, 'client.json')
    writeFileSync(
      client,
      JSON.stringify({ client_id: id, ...(secret !== undefined && { client_secret: secret }) }),
    )
    flags.push('--static-oauth-client-info', `@${client}`)
  }
  if (scenario.startsWith('auth/client-credentials')) flags.push('--client-credentials')
  if (typeof pem === 'string') {
    const key = join(home, 'key.pem')
    writeFileSync(key, pem, { mode: 0o600 })
    flags.push('--private-key', key)
  }
  return flags
}

function peerFlags({ scenario, revision, context, home }: ScenarioSetting): string[] {
  const flags = ['--transport', 'http-only', '--auth-timeout', '15']
  if (revision >= modernRevision) flags.push('--protocol', 'auto')
  if (scenario === 'auth/basic-cimd') flags.push('--client-metadata-url', metadataUrl)
  if (context['client_id'] !== undefined) {
    const client = join(home, 'client.json')
    writeFileSync(client, JSON.stringify(context))
    flags.push('--static-oauth-client-info', `@${client}`)
  }
  if (scenario.startsWith('auth/client-credentials')) flags.push('--client-credentials')
  return flags
}
