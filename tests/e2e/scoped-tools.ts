// Tools, one of which requires its own scope.
import type { ToolDeclaration } from '../../server/mcp/tools/tool-module.ts'

/** Scopes besides `mcp`. */
export const scopes = { 'orders:read': 'See your orders', 'orders:write': 'Order and cancel in your name' }

/** The plain tools. */
export const tools: readonly ToolDeclaration[] = [
  { name: 'list_orders', description: 'Lists orders.', scope: 'orders:read', call: () => 'One order.' },
  { name: 'cancel_order', description: 'Cancels an order.', scope: 'orders:write', call: () => 'Cancelled.' },
  { name: 'say_scope', description: 'Says what is allowed.', call: (_input, { scope }) => scope },
]
