import template from './manifest.json' with { type: 'json' }

/** Input from the package for the extension's manifest. */
export interface McpbPackage {
  version: string
  description: string
  license: string
  /** Range of Node versions, as in `engines`. */
  node: string
  /** Operating systems with an included keychain module. */
  platforms: readonly McpbPlatform[]
  /** The same with the processor, which the format has no member for; shown to users. */
  systems: readonly string[]
}

/** Operating systems by their names in the format, in the order of the manifest. */
export const mcpbPlatforms = ['darwin', 'win32', 'linux'] as const

/** One of {@link mcpbPlatforms}. */
export type McpbPlatform = (typeof mcpbPlatforms)[number]

/** Script in the archive that the client starts. */
export const mcpbEntryPoint: string = template.server.entry_point

/**
 * Returns the manifest of the desktop extension (MCPB manifest 0.3): the client asks for the URL of the server and a
 * profile, and starts the bridge with its own Node. Every question has a default, because Claude Desktop passes on
 * the placeholder of an unanswered one.
 */
export function mcpbManifest(given: McpbPackage): Record<string, unknown> {
  const { version, description, license, node, platforms, systems } = given
  return {
    ...template,
    version,
    description,
    long_description: `Connects to any remote MCP server and signs in to it by OAuth. The login is kept sealed on this computer, and shared with the command drawbridge. The tools are those of the server. Made for ${systems.join(', ')}.`,
    license,
    compatibility: { claude_desktop: '>=0.10.0', platforms, runtimes: { node } },
  }
}
