// SPDX-License-Identifier: Apache-2.0
// The official clients, as they come from the registry, against the gateway: clients.mjs URL TOKEN MODEL OLLAMA_MODEL LIMITED_MODEL.
// Prints what they saw as JSON.
import OpenAI from 'openai';
import { Ollama } from 'ollama';

const [url, token, model, ollamaModel, limited] = process.argv.slice(2);
const seen = {};
const openai = new OpenAI({ baseURL: url + '/v1', apiKey: token });
const ollama = new Ollama({ host: url, headers: { Authorization: 'Bearer ' + token } });
const messages = [{ role: 'user', content: 'hi' }];

seen.models = (await openai.models.list()).data.map((m) => m.id);
seen.chat = (await openai.chat.completions.create({ model, messages })).choices[0].message.content;
seen.chatStream = [];
for await (const part of await openai.chat.completions.create({ model, messages, stream: true }))
  seen.chatStream.push(part.choices[0].delta.content);
seen.embedding = (await openai.embeddings.create({ model, input: 'x', encoding_format: 'float' })).data[0].embedding;

seen.tags = (await ollama.list()).models.map((m) => m.name);
seen.ollamaChat = (await ollama.chat({ model: ollamaModel, messages })).message.content;
seen.ollamaStream = [];
for await (const part of await ollama.chat({ model: ollamaModel, messages, stream: true }))
  seen.ollamaStream.push(part.message.content);
seen.generate = (await ollama.generate({ model: ollamaModel, prompt: 'hi' })).response;
seen.generateStream = [];
for await (const part of await ollama.generate({ model: ollamaModel, prompt: 'hi', stream: true }))
  seen.generateStream.push(part.response);

// Refused at once, the client's own retry logic reads Retry-After and comes again.
const hasty = new OpenAI({ baseURL: url + '/v1', apiKey: token, maxRetries: 5, defaultHeaders: { Prefer: 'wait=0' } });
seen.retried = [];
for (let n = 0; n < 2; n++)
  seen.retried.push((await hasty.chat.completions.create({ model: limited, messages })).choices[0].message.content);
const once = new OpenAI({ baseURL: url + '/v1', apiKey: token, maxRetries: 0, defaultHeaders: { Prefer: 'wait=0' } });
try {
  await once.chat.completions.create({ model: limited, messages });
  await once.chat.completions.create({ model: limited, messages });
} catch (e) {
  seen.refused = { rate: e instanceof OpenAI.RateLimitError, status: e.status, code: e.code, type: e.type };
}
const impatient = new Ollama({ host: url, headers: { Authorization: 'Bearer ' + token, Prefer: 'wait=0' } });
try {
  for (let n = 0; n < 2; n++) await impatient.chat({ model: limited, messages });
} catch (e) {
  seen.ollamaRefused = { status: e.status_code, error: e.error };
}
console.log(JSON.stringify(seen));
