import type { ServerCapabilities } from '@modelcontextprotocol/server'

/** Between independent requests there is no way to send notifications (MCP 2025-11-25 lifecycle, capability negotiation). */
export function withoutNotifications(given: ServerCapabilities): ServerCapabilities {
  const { logging: _, ...rest } = given
  const { tools, resources, prompts } = rest
  return {
    ...rest,
    ...(tools && { tools: { ...tools, listChanged: false } }),
    ...(resources && { resources: { ...resources, listChanged: false, subscribe: false } }),
    ...(prompts && { prompts: { ...prompts, listChanged: false } }),
  }
}

/** What a process for everybody cannot say to one. */
export function withoutPersonal(given: ServerCapabilities): ServerCapabilities {
  const { logging: _, resources, ...rest } = given
  return { ...rest, ...(resources && { resources: { ...resources, subscribe: false } }) }
}
