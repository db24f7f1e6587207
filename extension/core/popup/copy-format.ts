import type { CopyFormat } from './popup-view.ts'

/** What is offered: everything when the MCP server is known, else what needs none. The first is the main one. */
export function offeredFormats(baseUrl: string | undefined): readonly CopyFormat[] {
  return baseUrl === undefined ? withoutServer : [...withoutServer, ...withServer]
}

const withoutServer = ['token', 'header', 'environment'] as const
const withServer = [
  'curl',
  'bridge',
  'config-claude-code',
  'config-claude-desktop',
  'config-cursor',
  'config-vscode',
  'config-codex',
  'test-claude-code',
  'test-cursor',
  'test-vscode',
] as const
