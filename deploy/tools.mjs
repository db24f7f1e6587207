// The tools that /mcp offers: docs/tools.md. Each acts as the user who signed in.
export const tools = [
  {
    name: 'greet',
    title: 'Greet',
    description: 'Greets the user by name.',
    annotations: { readOnlyHint: true },
    call: (_input, { user }) => `Hello ${user.name ?? user.email ?? user.sub}.`,
  },
  // Calls the API of your app with the user's own token; with Supabase its row-level security decides:
  //
  // {
  //   name: 'list_orders',
  //   title: 'List orders',
  //   description: "Lists the user's orders, newest first.",
  //   annotations: { readOnlyHint: true },
  //   async call(_input, context) {
  //     const answer = await context.fetch('/rest/v1/orders?select=*&order=created_at.desc&limit=20')
  //     return answer.ok ? { structuredContent: { orders: await answer.json() } } : `Failed: ${answer.status}`
  //   },
  // },
]
