import { z } from 'zod/v4'
import { defineTool, textResult, type ToolDefinition } from './tool.ts'

/** The one tool that every web app can have: who am I. */
export const whoamiTool: ToolDefinition = defineTool({
  name: 'whoami',
  title: 'Who am I',
  description: 'Tells which account of the web app this connection acts as, and how it was authenticated.',
  input: z.object({}),
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async (_input, { caller }) => {
    const { sub, email, name } = caller.user
    const identity = {
      sub,
      ...(email && { email }),
      ...(name && { name }),
      credential: caller.credential,
    }
    return textResult(`You are ${email ?? sub}.`, identity)
  },
})
