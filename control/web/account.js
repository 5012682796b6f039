// Login, setup of the first user, account: one page; the session decides which is shown.

const byId = id => document.getElementById(id);
const MAY = {read: "read", run: "read and run", write: "read, run and change", admin: "do everything"};
let csrf = "";

function say(id, text) {
  for (const other of ["failure", "done"]) byId(other).hidden = other !== id;
  byId(id).textContent = text;
}

async function send(path, values) {
  const answer = await fetch(path, {
    method: "POST", credentials: "same-origin",
    headers: {"Content-Type": "application/json", "X-CSRF-Token": csrf},
    body: JSON.stringify(values),
  });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.detail || "The controller answered " + answer.status + ".");
  return body;
}

// Redirect to paths of this site only. The address is read as the browser will read it: that drops tabs and line ends, takes "\"
// for "/" and removes "/.", so that a text which looks like a path can name another host.
function next() {
  try {
    const wanted = new URL(new URLSearchParams(location.search).get("next") || "/", location.origin);
    const path = wanted.pathname + wanted.search + wanted.hash;
    const own = wanted.origin === location.origin && /^\/(?!\/)/.test(path);
    return own && !wanted.pathname.startsWith("/login") ? path : "/";
  } catch {
    return "/"; // no address
  }
}

function onSubmit(id, path, then) {
  byId(id).addEventListener("submit", async event => {
    event.preventDefault();
    const button = event.target.querySelector("button");
    button.disabled = true;
    try {
      await send(path, Object.fromEntries(new FormData(event.target)));
      event.target.reset();
      await then();
    } catch (error) {
      say("failure", error.message);
    }
    button.disabled = false;
  });
}

async function show() {
  const session = await (await fetch("/session", {credentials: "same-origin"})).json();
  if (session.user && location.pathname !== "/account") {
    location.replace(next()); // signed in already
    return;
  }
  csrf = session.csrf || "";
  byId("login").hidden = Boolean(session.user) || session.setup;
  byId("setup").hidden = Boolean(session.user) || !session.setup;
  byId("account").hidden = !session.user;
  byId("title").textContent = session.user ? "Account" : session.setup ? "First user" : "Sign in";
  if (session.user) {
    byId("name").textContent = session.user.name;
    byId("rights").textContent = MAY[session.user.rights];
  }
  const wanted = next();
  byId("wanted").hidden = Boolean(session.user) || session.setup || wanted === "/";
  byId("wanted").textContent = `After that you are taken to ${wanted}.`;
  document.body.dataset.ready = "1";
}

onSubmit("login", "/login", () => location.assign(next()));
onSubmit("setup", "/setup", () => location.assign("/"));
onSubmit("password", "/account/password", async () => {
  await show();
  say("done", "The password was changed; all other sessions have ended.");
});
byId("logout").addEventListener("click", async () => {
  try {
    await send("/logout", {});
    location.assign("/login");
  } catch (error) {
    say("failure", error.message);
  }
});
show().catch(error => say("failure", error.message));
