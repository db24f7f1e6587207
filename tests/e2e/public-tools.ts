// Tools, one of which can be called without signing in.
import type { ToolDeclaration } from '../../server/mcp/tools/tool-module.ts'

/** Scopes besides `mcp`. */
export const scopes = { 'orders:write': 'Order and cancel in your name' }

/** The plain tools. */
export const tools: readonly ToolDeclaration[] = [
  {
    name: 'search',
    public: true,
    call: (_input, { user }) => (user ? `Found for ${user.email}.` : 'Found for anybody.'),
  },
  { name: 'who', call: (_input, { user }) => user.email ?? '' },
  { name: 'cancel_order', scope: 'orders:write', call: () => 'Cancelled.' },
]
