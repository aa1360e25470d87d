/* engine 16, frozen by test/compat/freeze.ts */
var xs=Object.defineProperty;var i=(t,e)=>xs(t,"name",{value:e,configurable:!0});var zn=(t,e)=>{for(var n in e)xs(t,n,{get:e[n],enumerable:!0})};var ua={};zn(ua,{API_KEY_BYTES:()=>Ao,ARM_OWNERS:()=>zs,ATTEMPT_MOVES:()=>Ts,BUILT_IN_ROLES:()=>Vf,CALL_KINDS:()=>tn,CONSENT_MOVES:()=>Ms,DEFAULT_QUEUE:()=>sn,DEFAULT_QUEUES:()=>$f,DELIVERY_CAUSES:()=>Xo,DELIVERY_MOVES:()=>Ls,DELIVERY_OUTCOMES:()=>Qo,DEPLOYMENT_PERMISSIONS:()=>Ns,ENDING_RUN:()=>G,ERROR_CODES:()=>vf,EgressEvent:()=>Nf,FAULT_POINTS:()=>Pf,GOING_ON_RUN:()=>Le,GhoulsError:()=>b,JobReportShape:()=>an,LONGEST_RESIDENT_DELAY_MS:()=>yt,MAX_CHUNK_BYTES:()=>Jn,MAX_DELAY_SECONDS:()=>xe,MAX_DEPTH:()=>dn,MAX_FAILURE_MESSAGE:()=>Fn,MAX_FAILURE_STACK:()=>Cs,MAX_JOURNAL_BYTES:()=>Ye,MAX_MISSES:()=>At,MAX_SUBMISSIONS:()=>aE,MAX_VALUE_BYTES:()=>gt,MOVES:()=>mn,NonRetryableError:()=>$e,NotDoneError:()=>nt,ON_EXPIRY:()=>rt,OPEN_DELIVERY:()=>Zo,OPEN_RUN:()=>ve,PARENT_CLOSE:()=>Xn,PAUSE_SCOPES:()=>Kn,PERMISSIONS:()=>Hn,PUBLICATIONS_BEFORE_ATTENTION:()=>Jo,PUBLICATION_DELAYS:()=>Vn,PUBLISHER_GRACE_SECONDS:()=>Ee,QUEUE_NAME:()=>on,QueueSettings:()=>Cf,ROLE_NAME:()=>Yf,RUN_FAILURE_CODES:()=>Vo,RUN_MOVES:()=>qs,RandomStream:()=>en,SKIP_REASONS:()=>op,StepFailedError:()=>ht,TimingSettings:()=>Rf,UnserializableError:()=>Q,VERDICTS:()=>Qn,afterExpiry:()=>ri,callKey:()=>j,callerOf:()=>Xf,canMove:()=>js,canonicalText:()=>le,closingsOf:()=>oi,decideSkip:()=>ei,delayAfterFailure:()=>tp,delayAfterPublication:()=>ep,describeCall:()=>be,describeFailure:()=>v,diagram:()=>rp,durationMs:()=>V,formatMessage:()=>Hf,formatWake:()=>Jf,holds:()=>Fo,idempotencyKeyOf:()=>Je,identityCodec:()=>Bo,isDuration:()=>qe,isPermission:()=>Uo,isRunId:()=>W,isSameDigest:()=>ft,isTerminalRun:()=>_e,judgeAnswer:()=>pt,judgeDecision:()=>ni,mintApiKey:()=>xf,namesRole:()=>fn,namesSubject:()=>Zn,nextAct:()=>Co,nextLookSeconds:()=>Gn,noFaults:()=>Oo,noHint:()=>Qf,noLiveStream:()=>un,notDone:()=>Af,parkedAs:()=>ti,parseApiKey:()=>So,parseJson:()=>jo,parseMessage:()=>Bn,parseWake:()=>Go,permissionsOf:()=>Wo,principalIssues:()=>Zf,queueUrlVariable:()=>Df,readAuthorityAnswer:()=>No,readGrantAnswer:()=>Po,readJobAnswer:()=>Un,readJobReport:()=>jf,readSourceAnswer:()=>Yo,resolveBackoff:()=>ln,retryDelayMs:()=>Qe,serialize:()=>Z,sha256:()=>L,sourcesOf:()=>_t,sqlStates:()=>E,statesOf:()=>z,terminalStatesOf:()=>ye,undoKeyOf:()=>$o,wire:()=>Te});import{timingSafeEqual as wf}from"node:crypto";import{crc32 as kf}from"node:zlib";import{createHash as _f}from"node:crypto";function L(t){return _f("sha256").update(t,"utf8").digest("hex")}i(L,"sha256");var bf=/^(ghouls_([0-9a-f]{16})_[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/,vo=8,Ao=vo+32;function xf(t){if(t.length!==Ao)throw new TypeError(`a key is made of ${Ao} random bytes`);let e=Buffer.from(t.subarray(0,vo)).toString("hex"),n=vs(BigInt(`0x${Buffer.from(t.subarray(vo)).toString("hex")}`),43),r=`ghouls_${e}_${n}`,o=`${r}${Is(r)}`;return{keyId:e,text:o,digest:Es(o)}}i(xf,"mintApiKey");function So(t){let[,e,n,r]=bf.exec(t)??[];if(!(e===void 0||n===void 0||Is(e)!==r))return{keyId:n,digest:Es(t)}}i(So,"parseApiKey");function Es(t){return L(t)}i(Es,"digestOfKey");function ft(t,e){let[n,r]=[Buffer.from(t),Buffer.from(e)];return n.length===r.length&&wf(n,r)}i(ft,"isSameDigest");function Is(t){return vs(BigInt(kf(t)),6)}i(Is,"checksumOf");var Ef="0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";function vs(t,e){let n="";for(let r=t;n.length<e;r/=62n)n=`${Ef[Number(r%62n)]}${n}`;return n}i(vs,"base62");var At=3,aE=5;function Co({status:t,traits:e,demand:n,unsent:r,acknowledged:o}){return t==="DEFINED"||r&&!o?n==="now"?"submit":n==="later"?"wait":"drop":n==="no"&&e.cancel!=="none"?"cancel":e.lookup==="none"?"wait":"lookUp"}i(Co,"nextAct");function pt(t,e){switch(e.state){case"succeeded":return{kind:"move",to:"SUCCEEDED",result:e.result};case"failed":return{kind:"move",to:"FAILED",error:e.error};case"accepted":return As(t,"SUBMITTED");case"running":return As(t,"RUNNING");case"cancelled":return t.late||t.traits.cancel==="final"?{kind:"move",to:"CANCELLED"}:{kind:"keep",missed:!1,why:"it is cancelled, but a submission may be on its way"};case"absent":return If(t);case"unsent":return{kind:"keep",missed:!0,why:e.why};case"unknown":return Ss(t,e.why)}}i(pt,"judgeAnswer");function As(t,e){let{status:n,demand:r}=t,o=n==="RUNNING"||n===e;return r==="no"&&(o||n==="UNCERTAIN")?Ss(t,"it is to be cancelled, and the service says that it has it still"):o?{kind:"keep",missed:!1,why:"the service has it"}:{kind:"move",to:e}}i(As,"judgeLife");function If(t){let{traits:e,late:n,acknowledged:r,demand:o,submissions:s}=t;return r?Zt(t,"the service had it, and does not find it any more"):n?e.lookup!=="authoritative"?Zt(t,"the service does not find it, which proves nothing"):o==="no"?{kind:"move",to:"CANCELLED"}:e.submit!=="idempotent"?Zt(t,"it was not accepted, and may not be submitted twice"):s>=5?Zt(t,`it was submitted ${s} times, and is not found`):o==="now"?{kind:"resubmit"}:{kind:"keep",missed:!1,why:"its run is under way"}:{kind:"keep",missed:!1,why:"it was asked about while a submission may be on its way"}}i(If,"judgeAbsence");function Ss(t,e){return t.misses+1<3?{kind:"keep",missed:!0,why:e}:Zt(t,e)}i(Ss,"missed");function Zt({status:t},e){return t==="UNCERTAIN"?{kind:"keep",missed:!0,why:e}:{kind:"move",to:"UNCERTAIN",why:e}}i(Zt,"uncertain");function Gn(t,e){return Math.min(Math.max(t,3600),t*2**Math.min(e,4))}i(Gn,"nextLookSeconds");import{createHash as Ro}from"node:crypto";var tn=["step","transaction","consent","delegate","child","sleep","signal","reserve","release"];function j(t){return JSON.stringify([t.epoch,t.scope,t.kind,t.name,t.nth])}i(j,"callKey");function be(t){let e=t.nth===1?"":` (use ${t.nth})`,n=t.scope===""?"":` in ${t.scope}`;return`${t.kind} "${t.name}"${e}${n}`}i(be,"describeCall");function Je(t,e){return Ro("sha256").update(`ghouls-step-1
${t}
${j(e)}`).digest("hex")}i(Je,"idempotencyKeyOf");function $o(t,e){return Ro("sha256").update(`ghouls-undo-1
${t}
${j(e)}`).digest("hex")}i($o,"undoKeyOf");var en=class{static{i(this,"RandomStream")}#e;#t=0;constructor(e,n,r){this.#e=`ghouls-random-1
${JSON.stringify([e,n,r])}`}#n(){return this.#t+=1,Ro("sha256").update(`${this.#e}
${this.#t}`).digest()}random(){return Number(this.#n().readBigUInt64BE()>>11n)/2**53}uuid(){let e=this.#n().subarray(0,16);e[6]=e[6]&15|64,e[8]=e[8]&63|128;let n=e.toString("hex");return`${n.slice(0,8)}-${n.slice(8,12)}-${n.slice(12,16)}-${n.slice(16,20)}-${n.slice(20)}`}};var vf=["invalid_request","malformed_json","unknown_workflow","unknown_queue","input_invalid","too_large","idempotency_conflict","admission_busy","not_found","unauthenticated","forbidden","hold_ended","run_ended","consent_closed","consent_changed","not_a_decider","too_many_signals","attempt_settled","attempt_under_way","child_open","not_redrivable","redriven_before","wrong_transaction","configuration_invalid","schema_outdated","integrity_fault","ledger_unavailable","outcome_unknown","queue_unavailable","codec_unavailable","internal"],b=class extends Error{static{i(this,"GhoulsError")}code;fix;issues;retryAfterSeconds;constructor(e,n,r={}){super(n,r.cause===void 0?void 0:{cause:r.cause}),this.name="GhoulsError",this.code=e,this.fix=r.fix,this.issues=r.issues,this.retryAfterSeconds=r.retryAfterSeconds}},$e=class extends Error{static{i(this,"NonRetryableError")}constructor(e,n){super(e,n),this.name="NonRetryableError"}},nt=class extends Error{static{i(this,"NotDoneError")}constructor(e){super(e instanceof Error?e.message:String(e),{cause:e}),this.name="NotDoneError"}};function Af(t){return new nt(t)}i(Af,"notDone");var ht=class extends Error{static{i(this,"StepFailedError")}step;tries;failure;constructor(e,n,r,o="step"){super(`${o} "${e}" failed after ${n===1?"1 try":`${n} tries`}: ${r.message}`),this.name="StepFailedError",this.step=e,this.tries=n,this.failure=r}},Fn=2e3,Cs=6e3;function v(t){try{if(t instanceof Error){let n=typeof t.stack=="string"?nn(t.stack,Cs):void 0;return{name:nn(String(t.name),200),message:nn(String(t.message),Fn),...n===void 0?{}:{stack:n}}}if(typeof t=="string")return{name:"Error",message:nn(`a string was thrown: ${t}`,Fn)};if(t==null)return{name:"Error",message:`${String(t)} was thrown, not an Error`};let e=JSON.stringify(t,(n,r)=>typeof r=="bigint"?String(r):r);return{name:"Error",message:nn(`a value that is no Error was thrown: ${e??typeof t}`,Fn)}}catch{return{name:"Error",message:`a value of type ${typeof t} that cannot be described was thrown`}}}i(v,"describeFailure");function nn(t,e){return t.length<=e?t.toWellFormed():`${t.slice(0,e).toWellFormed()}\u2026 (${t.length-e} more characters)`}i(nn,"bounded");var Do={ms:1,s:1e3,m:6e4,h:36e5,d:864e5},Sf=3650*Do.d;function qe(t){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(t);return e===null?!1:Number(e[1])*Do[e[2]]<=Sf}i(qe,"isDuration");function V(t){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(t);if(e===null||!qe(t))throw new b("configuration_invalid",`"${String(t).slice(0,40)}" is not a duration`,{fix:'Write a whole number and a unit, such as "500ms", "90s", "15m", "2h" or "3d" (at most ten years).'});return Number(e[1])*Do[e[2]]}i(V,"durationMs");import*as B from"zod";import*as Ve from"zod";var rn=Ve.string().refine(t=>qe(t),'write a whole number and a unit, such as "90s" or "15m"'),on=/^[a-z][a-z0-9-]{0,31}$/,Cf=Ve.strictObject({batchSize:Ve.int().min(1).max(10).default(5),concurrency:Ve.int().min(1).max(1e3).default(2),functionTimeout:rn.refine(t=>!qe(t)||V(t)>=5e3&&V(t)<=432e5,'from "5s" to "12h"').default("15m")}),Rf=Ve.strictObject({lease:rn.default("120s"),beat:rn.default("30s"),actsMargin:rn.default("60s"),maxLosses:Ve.int().min(1).max(100).default(3),deployOverlap:rn.default("1h")}),$f={runs:{batchSize:5,concurrency:2},rites:{batchSize:1,concurrency:2}},sn="runs";function Df(t){return`GHOULS_QUEUE_${t.toUpperCase().replaceAll("-","_")}_URL`}i(Df,"queueUrlVariable");var Rs={tenantId:B.string(),runId:B.string(),attemptId:B.string(),idempotencyKey:B.string()},Of=B.discriminatedUnion("kind",[B.strictObject({kind:B.literal("submit"),job:B.strictObject({...Rs,requestText:B.string(),callback:B.strictObject({url:B.string(),token:B.string()}).nullable()})}),B.strictObject({kind:B.enum(["lookUp","cancel"]),job:B.strictObject(Rs)})]),Nf=B.strictObject({service:B.string().regex(on),question:Of,timeoutMs:B.int().min(1),untilMs:B.int()});var Pf=["ledger.before-statement","ledger.after-statement","ledger.before-commit","ledger.after-commit","secrets.before-read","secrets.after-read","queue.before-publish","queue.after-publish","queue.before-receive","queue.after-receive","queue.before-visibility","queue.after-visibility","queue.before-delete","queue.after-delete","admission.after-commit","redrive.after-commit","admission.after-publish","worker.after-claim","holdings.before-ask","holdings.after-ask","holdings.before-release","holdings.after-release","worker.before-beat","worker.before-intent","worker.after-intent","worker.before-step","worker.after-step","worker.before-undo","worker.after-undo","worker.before-transaction","worker.after-transaction","worker.after-journal","worker.before-child","worker.after-child","worker.before-reserve","worker.after-reserve","worker.before-release","worker.after-release","worker.before-tell-parent","worker.after-tell-parent","worker.before-handover","worker.before-adopt","worker.before-park","worker.after-park","worker.before-restart","worker.after-restart","worker.after-wake","timers.after-select","timers.after-resume","deadlines.after-select","deadlines.after-failure","consents.after-commit","consents.after-select","consents.after-look","signals.after-commit","delegate.before-claim","delegate.after-claim","delegate.after-submit","delegate.after-answer","delegates.after-select","delegates.after-look","callbacks.after-commit","worker.after-handover","worker.before-settle","worker.after-settle","worker.before-replay-check","worker.after-replay-check","relay.after-select","relay.after-publish","reanimation.after-select","reanimation.after-judgement","containment.after-select","containment.after-look","containment.after-cancel","children.after-select","children.after-tell","holds.after-select","holds.after-expiry","egress.before-ask","egress.after-ask","hint.before-read","hint.after-read","hint.before-lower","hint.after-lower","hint.before-raise","hint.after-raise"],Oo=i(()=>{},"noFaults");import*as X from"zod";var $s=X.string().transform(t=>t.toWellFormed().slice(0,1e3)),qf=X.discriminatedUnion("outcome",[X.object({outcome:X.literal("valid")}),X.object({outcome:X.literal("revoked"),reason:$s})]),Lf=X.discriminatedUnion("outcome",[X.object({outcome:X.literal("granted"),value:X.unknown().optional(),expiresAt:X.date().optional(),release:X.custom(t=>typeof t=="function","must be a function").optional()}),X.object({outcome:X.literal("refused"),reason:$s})]);function No(t){let e=qf.safeParse(t);if(e.success)return e.data;throw new Error(`that is no answer of an authority check: ${Ds(e.error)}`)}i(No,"readAuthorityAnswer");function Po(t){let e=Lf.safeParse(t);if(!e.success)throw new Error(`that is no answer of a grant provider: ${Ds(e.error)}`);if(e.data.outcome==="refused")return e.data;let{value:n,expiresAt:r,release:o}=e.data;return{outcome:"granted",value:n,...r===void 0?{}:{expiresAt:r},...o===void 0?{}:{release:i(()=>o.call(t),"release")}}}i(Po,"readGrantAnswer");function Ds(t){let[e]=t.issues;return e===void 0?"":`${e.path.map(String).join(".")||"it"}: ${e.message}`}i(Ds,"issueOf");import*as Y from"zod";var Tf=2e3,qo=i(t=>Y.object({state:Y.literal(t)}),"simple"),an=Y.discriminatedUnion("state",[qo("accepted"),qo("running"),qo("cancelled"),Y.object({state:Y.literal("succeeded"),result:Y.unknown().optional()}),Y.object({state:Y.literal("failed"),error:Y.object({code:Y.string(),message:Y.string()})})]),Mf=Y.discriminatedUnion("state",[...an.options,Y.object({state:Y.literal("absent")}),Y.object({state:Y.enum(["unsent","unknown"]),why:Y.string().transform(t=>t.slice(0,Tf))})]);function jf(t){return an.safeParse(t).data}i(jf,"readJobReport");function Un(t){let{data:e,error:n}=Mf.safeParse(t);if(e!==void 0)return e;let[r]=n.issues,o=r?.path.join(".")??"";return{state:"unknown",why:`the adapter answered what is no answer: ${o===""?"":`${o}: `}${r?.message}`}}i(Un,"readJobAnswer");var dn=100,zf=new Set(["__proto__","constructor","prototype"]),Mo=JSON,Gf=JSON.parse;function jo(t){if(Ff(t)>dn)throw new b("malformed_json",`the document is nested more than ${dn} levels deep`,{fix:"Flatten the document, or send it as one string."});let e;try{e=Gf(t,(r,o,s)=>typeof o=="number"?Mo.rawJSON(s.source??String(o)):o)}catch(r){throw new b("malformed_json",`the document is not valid JSON: ${r.message.slice(0,200)}`,{fix:"Send one JSON document in UTF-8."})}let n=[];if(Lo(e,"",n),n.length>0)throw new b("invalid_request","the document holds values that cannot be kept unchanged",{issues:n,fix:"Send large numbers as strings, and text without NUL and lone surrogates."});return{value:JSON.parse(t),canonical:le(e),member:i(r=>{if(!(typeof e!="object"||e===null||!Object.hasOwn(e,r)))return le(e[r])},"member")}}i(jo,"parseJson");function Ff(t){let e=0,n=0,r=!1;for(let o=0;o<t.length;o+=1){let s=t.charCodeAt(o);r?s===92?o+=1:s===34&&(r=!1):s===34?r=!0:s===91||s===123?n=Math.max(n,e+=1):(s===93||s===125)&&(e-=1)}return n}i(Ff,"nestingOf");function Lo(t,e,n){if(!(n.length>=20)){if(typeof t=="string"){let r=Os(t);r!==void 0&&n.push({path:e,message:r});return}if(!(typeof t!="object"||t===null)){if(Mo.isRawJSON(t)){let r=Number(JSON.stringify(t));Math.abs(r)>Number.MAX_SAFE_INTEGER&&n.push({path:e,message:"a number beyond 2^53 - 1 would not come back unchanged; send it as a string"});return}if(Array.isArray(t)){t.forEach((r,o)=>Lo(r,`${e}/${o}`,n));return}for(let[r,o]of Object.entries(t)){let s=`${e}/${r.slice(0,100).toWellFormed()}`;zf.has(r)&&n.push({path:s,message:"this key is not allowed"});let a=Os(r);a!==void 0&&n.push({path:s,message:`the key: ${a}`}),Lo(o,s,n)}}}}i(Lo,"inspect");function Os(t){if(t.includes("\0"))return"text with a NUL character is not taken";if(!t.isWellFormed())return"text with a lone surrogate is not taken"}i(Os,"textProblem");function le(t){return JSON.stringify(To(t))}i(le,"canonicalText");function To(t){if(typeof t!="object"||t===null||Mo.isRawJSON(t))return t;if(Array.isArray(t))return t.map(To);let e=Object.entries(t).toSorted(([n],[r])=>n<r?-1:1);return Object.fromEntries(e.map(([n,r])=>[n,To(r)]))}i(To,"sorted");var Q=class extends Error{static{i(this,"UnserializableError")}reason;constructor(e,n){super(n),this.name="UnserializableError",this.reason=e}},gt=1048576,Ye=32*1048576;function Z(t,e=gt){if(t===void 0)return;let n;try{n=JSON.stringify(Wn(t,"",[]))}catch(o){throw o instanceof Q?o:new Q("unserializable",`it cannot be turned into JSON: ${v(o).message.slice(0,500)}`)}let r=Buffer.byteLength(n);if(r>e)throw new Q("too_large",`it is ${r} bytes of JSON, the limit is ${e}`);return n}i(Z,"serialize");function Wn(t,e,n){let r=e===""?"the value":`the value at ${e}`,o=i(d=>new Q("unserializable",`${r} is ${d}, which JSON cannot hold`),"refuse");switch(typeof t){case"string":case"boolean":return t;case"number":if(!Number.isFinite(t))throw o(String(t));return t;case"undefined":case"bigint":case"symbol":case"function":throw o(`a value of type ${typeof t}`);case"object":}if(t===null)return null;if(n.includes(t))throw o("a cycle");if(n.length>dn)throw o(`nested more than ${dn} levels deep`);let s=[...n,t];if(t instanceof Date&&Number.isNaN(t.getTime()))throw o("an invalid Date");if("toJSON"in t&&typeof t.toJSON=="function"){let d=t.toJSON("");if(d===t)throw o("a cycle of toJSON");return Wn(d,e,s)}if(Array.isArray(t))return Array.from(t,(d,u)=>Wn(d,`${e}/${u}`,s));if(!Uf(t))throw o(`a ${t.constructor?.name??"class instance"}`);let a={};for(let[d,u]of Object.entries(t))u!==void 0&&Object.defineProperty(a,d,{value:Wn(u,`${e}/${d.slice(0,100)}`,s),enumerable:!0,configurable:!0,writable:!0});return a}i(Wn,"plain");function Uf(t){let e=Object.getPrototypeOf(t);return e===null||e===Object.prototype?!0:Object.getPrototypeOf(e)===null&&t.constructor?.name==="Object"}i(Uf,"isPlainObject");var zo="[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",Wf=new RegExp(`^${zo}$`),Bf=new RegExp(`^run:(${zo}):([1-9]\\d{0,8})$`),Kf=new RegExp(`^wake:(${zo})$`);function W(t){return Wf.test(t)}i(W,"isRunId");function Hf(t){return`run:${t.runId}:${t.enqueueSeq}`}i(Hf,"formatMessage");function Bn(t){let e=Bf.exec(t);if(e!==null)return{runId:e[1],enqueueSeq:Number(e[2])}}i(Bn,"parseMessage");function Jf(t){return`wake:${t}`}i(Jf,"formatWake");function Go(t){return Kf.exec(t)?.[1]}i(Go,"parseWake");var Kn=["all","workflow","tenant"];function Fo(t,e){return(t.tenantId===null||t.tenantId===e.tenantId)&&(t.workflow===null||t.workflow===e.workflow)}i(Fo,"holds");var Hn=["runs:submit","runs:read","runs:release","runs:cancel","runs:resolve","runs:clear","runs:pause","runs:redrive","signals:send","consents:read","consents:decide","attempts:read","attempts:resolve","workflows:read","deployment:pause"],Ns=["deployment:pause"],Vf={admin:Hn.filter(t=>!Ns.includes(t)),operator:["runs:submit","runs:read","runs:release","runs:cancel","runs:resolve","runs:clear","runs:pause","runs:redrive","signals:send","consents:read","attempts:read","attempts:resolve","workflows:read"],submitter:["runs:submit","runs:read","runs:release","runs:cancel","signals:send","consents:read","attempts:read","workflows:read"],decider:["runs:read","consents:read","consents:decide","attempts:read","workflows:read"],viewer:["runs:read","consents:read","attempts:read","workflows:read"]},Yf=/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;function Uo(t){return Hn.includes(t)}i(Uo,"isPermission");function Wo(t,e){let n=t.roles.flatMap(o=>Object.hasOwn(e,o)?e[o]??[]:[]),r=new Set([...n,...t.permissions??[]]);return Hn.filter(o=>r.has(o))}i(Wo,"permissionsOf");var Bo={encode:i(t=>Promise.resolve(t),"encode"),decode:i(t=>Promise.resolve(t),"decode")},xe=900,Qf={keeps:!1,read:i(()=>Promise.resolve(void 0),"read"),lower:i(()=>Promise.resolve(),"lower"),raise:i(()=>Promise.resolve(!1),"raise")},Jn=16384,un={write:i(()=>{},"write"),end:i(()=>{},"end")};function Xf(t,e){let{tenantId:n,subject:r}=t;return{tenantId:n,subject:r,roles:t.roles,permissions:Wo(t,e)}}i(Xf,"callerOf");function Zf(t){let e=typeof t=="object"&&t!==null?t:{},n=i((r,o)=>({path:`/principal/${r}`,message:o}),"issue");return[...["tenantId","subject"].filter(r=>typeof e[r]!="string"||e[r]==="").map(r=>n(r,"is missing")),...Ps(e.roles)?[]:[n("roles","is no list of names")],...e.permissions===void 0||Ps(e.permissions)?[]:[n("permissions","is no list of names")]]}i(Zf,"principalIssues");function Ps(t){return Array.isArray(t)&&t.every(e=>typeof e=="string")}i(Ps,"isTexts");var Ee=15,Ko=[60,120,300,600,1800,3600],Ho=[5,10,30,60,120,300],Jo=5;function ep(t){return Ko[Math.min(Math.max(t,1),Ko.length)-1]}i(ep,"delayAfterPublication");function tp(t){return Ho[Math.min(Math.max(t,1),Ho.length)-1]}i(tp,"delayAfterFailure");var Vn={afterSuccess:Ko,afterFailure:Ho};var yt=1e4;function ln(t={}){let e=V(t.initial??"200ms"),n={initialMs:e,factor:t.factor??2,maxMs:t.max===void 0?Math.max(yt,e):V(t.max)};if(!(n.factor>=1&&n.factor<=100))throw new b("configuration_invalid",`a backoff factor of ${String(t.factor)} is not taken`,{fix:"Give a factor from 1 to 100."});return n}i(ln,"resolveBackoff");function Qe(t,e,n){let r=Math.min(t.maxMs,t.initialMs*t.factor**(e-2));return Math.round(r/2+r/2*n)}i(Qe,"retryDelayMs");var Vo=["workflow_failed","step_failed","workflow_changed","journal_mismatch","duplicate_call","invalid_call","input_invalid","output_invalid","unserializable","too_large","deadline","out_of_time","no_progress","ghoul_lost","effect_unknown","hold_expired","authority_revoked","grant_refused"];import*as Ie from"zod";var np=Ie.discriminatedUnion("outcome",[Ie.object({outcome:Ie.literal("pending")}),Ie.object({outcome:Ie.enum(["grant","deny"]),by:Ie.string().min(1).max(200),comment:Ie.string().max(4e3).optional()})]);function Yo(t){let{data:e,error:n}=np.safeParse(t);if(n!==void 0){let[a]=n.issues,d=a?.path.join(".")??"";throw new Error(`it answered what is no decision: ${d===""?"":`${d}: `}${a?.message}`)}if(e.outcome==="pending")return{outcome:e.outcome};let{outcome:r,by:o,comment:s}=e;return{outcome:r,by:o,...s===void 0?{}:{comment:s}}}i(Yo,"readSourceAnswer");var cn=["QUEUED","FAILING","CANCELLING"],qs={QUEUED:["RUNNING","FAILING","CANCELLING"],RUNNING:["AWAITING_HARDWARE","AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER","QUEUED","COMPLETING","DONE","FAILING","FAILED","CANCELLING"],AWAITING_HARDWARE:["RUNNING","QUEUED","FAILING","CANCELLING"],AWAITING_CONSENT:cn,AWAITING_DELEGATE:cn,AWAITING_CHILD:cn,AWAITING_SIGNAL:cn,AWAITING_TIMER:cn,COMPLETING:["DONE"],FAILING:["FAILED"],CANCELLING:["CANCELLED"],DONE:[],FAILED:[],CANCELLED:[]},Ls={HELD:["PENDING","FENCED"],PENDING:["CLAIMED","FENCED"],CLAIMED:["SETTLED","FENCED"],SETTLED:[],FENCED:[]},Yn=["SUCCEEDED","FAILED","CANCELLED"],Ts={DEFINED:["SUBMITTING","CANCELLED"],SUBMITTING:["SUBMITTED","RUNNING",...Yn,"UNCERTAIN"],SUBMITTED:["RUNNING",...Yn,"UNCERTAIN"],RUNNING:[...Yn,"UNCERTAIN"],UNCERTAIN:["SUBMITTING","SUBMITTED","RUNNING",...Yn],SUCCEEDED:[],FAILED:[],CANCELLED:[]},Ms={PENDING:["GRANTED","DENIED","EXPIRED","CANCELLED"],GRANTED:[],DENIED:[],EXPIRED:[],CANCELLED:[]},mn={run:qs,delivery:Ls,attempt:Ts,consent:Ms},Qo=["done","failed","parked","continued","lost","given_back","refused"],Xo=["admitted","resumed","continued","recovered","contain"];function z(t){return Object.keys(mn[t])}i(z,"statesOf");function js(t,e,n){return mn[t][e]?.includes(n)??!1}i(js,"canMove");function _t(t,e){return z(t).filter(n=>js(t,n,e))}i(_t,"sourcesOf");function ye(t){return z(t).filter(e=>(mn[t][e]??[]).length===0)}i(ye,"terminalStatesOf");var Zo=z("delivery").filter(t=>!ye("delivery").includes(t)),ve=z("run").filter(t=>!ye("run").includes(t)),Le=_t("run","CANCELLING"),G=ve.filter(t=>!Le.includes(t));function _e(t){return ye("run").includes(t)}i(_e,"isTerminalRun");function E(t){for(let e of t)if(!/^[A-Z_]+$/.test(e))throw new TypeError(`not a state: ${e}`);return t.map(e=>`'${e}'`).join(", ")}i(E,"sqlStates");function rp(t){let e=Object.entries(mn[t]).flatMap(([n,r])=>r.length===0?[`    ${n} --> [*]`]:r.map(o=>`    ${n} --> ${o}`));return["stateDiagram-v2",`    [*] --> ${z(t)[0]}`,...e].join(`
`)}i(rp,"diagram");var op=["unknown","terminal","settled","fenced","superseded","held","early","claimed","paused","quarantined","ending","contended"],ip=43e3,St=i(t=>({reason:t,deleteMessage:!0,retryInSeconds:0}),"gone"),Ct=i((t,e)=>({reason:t,deleteMessage:!1,retryInSeconds:Math.min(ip,Math.max(1,Math.ceil(e)))}),"back");function ei(t){return t===void 0?Ct("unknown",30):_e(t.runStatus)?St("terminal"):t.deliveryStatus==="SETTLED"?St("settled"):t.deliveryStatus==="FENCED"?St("fenced"):t.seq<t.currentSeq?St("superseded"):t.deliveryStatus==="CLAIMED"?Ct("claimed",Math.max(5,t.leaseEndsInSeconds??30)):t.deliveryStatus==="HELD"?Ct("held",30):t.quarantined?St("quarantined"):t.paused&&t.cause!=="contain"?St("paused"):t.runStatus!=="QUEUED"&&t.cause!=="contain"?Ct("ending",30):t.dueInSeconds>0?Ct("early",t.dueInSeconds):Ct("contended",2)}i(ei,"decideSkip");var rt=["expire","grant","deny"],Qn=["grant","deny"],Xn=["cancel","wait","abandon"],zs=["consent","delegate","child","signal","timer"],sp={consent:"AWAITING_CONSENT",delegate:"AWAITING_DELEGATE",child:"AWAITING_CHILD",signal:"AWAITING_SIGNAL",timer:"AWAITING_TIMER"};function ti(t){let e=zs.find(n=>t.includes(n));if(e===void 0)throw new TypeError("a run is parked on at least one arm");return sp[e]}i(ti,"parkedAs");function ni(t,e,n=!1){if(!n){if(!ap(t.deciders,e))return{kind:"not_a_decider"};if(e.subject===t.requestedBy&&!t.requesterMayDecide)return{kind:"requester"}}if(e.digest!==t.requestDigest)return{kind:"changed"};let r=t.decisions.find(({by:s})=>s===e.subject);if(t.status==="PENDING"&&t.expired)return{kind:"expired"};if(r?.verdict===e.verdict)return{kind:"repeated",status:t.status};if(t.status!=="PENDING")return{kind:"closed",status:t.status,by:t.closedBy??"unknown"};if(r!==void 0)return{kind:"contradicts",verdict:r.verdict};if(e.verdict==="deny")return{kind:"counts",becomes:"DENIED"};let o=t.decisions.filter(({verdict:s})=>s==="grant").length+1;return{kind:"counts",becomes:n||o>=t.quorum?"GRANTED":"PENDING"}}i(ni,"judgeDecision");function fn(t){return t.startsWith("role:")}i(fn,"namesRole");function Zn(t,e){return!fn(t)&&(t===e||t===`user:${e}`)}i(Zn,"namesSubject");function ap(t,e){return t.some(r=>Zn(r,e.subject))||e.roles.some(r=>t.includes(`role:${r}`))}i(ap,"isDecider");function ri(t){return t==="grant"?"GRANTED":t==="deny"?"DENIED":"EXPIRED"}i(ri,"afterExpiry");function oi(t){let e=new Set;return t.flatMap(n=>{let{armId:r,consent:o}=n;if(o!==void 0){if(o.status==="PENDING"||o.status==="CANCELLED")return[];let{consentId:d,status:u,closedBy:l,decisions:c}=o;return[{armId:r,resultText:JSON.stringify({outcome:u,consentId:d,by:l??"unknown",decisions:c})}]}if(n.attempt!==void 0)return dp(r,n.attempt);if(n.child!==void 0)return up(r,n.child);let s=n.signals?.find(({signalId:d})=>!e.has(d));if(s!==void 0){e.add(s.signalId);let{signalId:d,from:u,at:l,payload:c}=s;return[{armId:r,signalId:d,resultText:JSON.stringify({outcome:"RECEIVED",payload:c,from:u,at:l})}]}if(!n.due)return[];if(n.retry)return[{armId:r,resultText:null}];let a=n.owner==="signal"?"TIMED_OUT":"ELAPSED";return[{armId:r,resultText:JSON.stringify({outcome:a})}]})}i(oi,"closingsOf");function dp(t,e){let{attemptId:n,status:r,overdue:o,report:s,digest:a}=e,d=i(u=>[{armId:t,resultText:JSON.stringify({attemptId:n,...u})}],"close");return r==="SUCCEEDED"||r==="FAILED"?d({outcome:r,report:s,digest:a}):r==="CANCELLED"?d({outcome:o?"DEADLINE":"CANCELLED"}):[]}i(dp,"attemptClosing");function up(t,e){let{runId:n,status:r,text:o,digest:s}=e,a=i(d=>[{armId:t,resultText:JSON.stringify({runId:n,...d})}],"close");return r==="DONE"||r==="FAILED"?a({outcome:r,text:o,digest:s}):r==="CANCELLED"?a({outcome:r}):[]}i(up,"childClosing");var Te={};zn(Te,{Admitted:()=>Hs,AttemptPage:()=>gp,AttemptResolution:()=>bp,AttemptResolved:()=>xp,AttemptSummary:()=>Ys,AttemptView:()=>hp,BatchAdmitted:()=>mp,BatchItem:()=>Ks,BatchOutcome:()=>Js,BatchRequest:()=>cp,CALLBACK_TOKEN:()=>wp,CALLBACK_TOKEN_HEADER:()=>_p,CancelFilter:()=>Zs,CancelMatchingRequest:()=>Sp,Cancelled:()=>Ip,CancelledMatching:()=>Cp,Cleared:()=>Ap,ConsentPage:()=>Lp,ConsentSummary:()=>na,ConsentView:()=>qp,ContainmentItem:()=>ia,Decided:()=>Mp,DecisionRequest:()=>Tp,HeldBy:()=>pn,IdempotencyKey:()=>Ws,JobReport:()=>yp,MAX_BATCH:()=>er,MAX_BODY_BYTES:()=>Fs,MAX_CANCEL:()=>Xs,MAX_PAGE:()=>Us,OpenWait:()=>si,PauseLifted:()=>Op,PauseList:()=>$p,PauseRequest:()=>Rp,PauseSet:()=>Dp,PauseView:()=>tr,Problem:()=>Hp,ReasonRequest:()=>Ep,Redriven:()=>fp,Released:()=>pp,Reported:()=>kp,ReservedUnits:()=>sa,Resolved:()=>vp,RunError:()=>oa,RunPage:()=>Wp,RunPaused:()=>Np,RunRequest:()=>Bs,RunSummary:()=>ai,RunUnpaused:()=>Pp,RunView:()=>Up,SIGNAL_NAME:()=>jp,SIGNAL_NAME_RULE:()=>zp,SignalRequest:()=>Gp,Signalled:()=>Fp,Timeline:()=>Bp,TimelineEntry:()=>aa,WORKFLOW_NAME:()=>Rt,WorkflowList:()=>Kp,WorkflowRef:()=>$t,WorkflowView:()=>da});import*as pe from"zod";import*as Gs from"zod";var Fs=1048576,er=100,Us=200,D=Gs.iso.datetime();import*as A from"zod";var Rt=/^[a-z0-9][a-z0-9._-]{0,99}$/i,lp=A.string().regex(Rt,'letters, digits, ".", "_" and "-", at most 100'),Ws=A.string().min(1).max(200).regex(/^[\x21-\x7e]+$/,"printable ASCII without spaces"),Bs=A.strictObject({workflow:lp.optional(),version:A.int().min(1).max(1e6).optional(),input:A.unknown().optional(),queue:A.string().regex(on).optional(),priority:A.int().min(0).max(9).optional(),agent:A.string().min(1).max(200).optional(),held:A.boolean().optional(),holdFor:A.string().refine(qe,'such as "10m"').optional(),startAfter:A.string().refine(t=>qe(t)||D.safeParse(t).success,'such as "2h" or "2030-01-31T08:00:00Z"').optional()}),Ks=Bs.extend({idempotencyKey:Ws.optional()}),cp=A.strictObject({runs:A.array(Ks).min(1).max(er)}),$t=A.object({name:A.string(),version:A.int(),digest:A.string()}),Hs=A.object({runId:A.string(),created:A.boolean(),status:A.enum(z("run")),enqueueSeq:A.int(),workflow:$t,queue:A.string(),priority:A.int(),held:A.boolean(),startsAt:D.nullable()}),Js=A.discriminatedUnion("outcome",[A.object({outcome:A.literal("admitted"),run:Hs}),A.object({outcome:A.literal("conflict"),idempotencyKey:A.string(),detail:A.string()})]),mp=A.object({runs:A.array(Js)}),fp=A.object({runId:A.string(),redriveOf:A.string(),created:A.boolean(),status:A.enum(z("run")),enqueueSeq:A.int(),workflow:$t,queue:A.string(),priority:A.int(),kept:A.int().nullable(),from:A.object({kind:A.string(),name:A.string()}).nullable()}),pp=A.object({runId:A.string(),enqueueSeq:A.int(),released:A.boolean()});import*as R from"zod";var Vs={attemptId:R.string(),runId:R.string(),workflow:R.string(),name:R.string(),status:R.enum(z("attempt")),service:R.string(),executor:R.object({adapter:R.string(),version:R.string(),digest:R.string()}),digest:R.string(),idempotencyKey:R.string(),submissions:R.int(),uncertain:R.string().nullable(),trouble:R.object({why:R.string(),at:D}).nullable(),cancelling:R.enum(["deadline","ended","restart"]).nullable(),contradiction:R.string().nullable(),createdAt:D,acknowledgedAt:D.nullable(),heartbeatAt:D.nullable(),deadlineAt:D.nullable(),nextLookAt:D.nullable(),closedAt:D.nullable(),closedBy:R.string().nullable()},Ys=R.object(Vs),Qs=R.object({code:R.string(),message:R.string()}),hp=R.object({...Vs,request:R.unknown(),result:R.unknown(),error:Qs.nullable()}),gp=R.object({attempts:R.array(Ys),nextCursor:R.string().nullable()}),yp=an,_p="ghouls-callback-token",wp=/^[A-Za-z0-9_-]{43}$/,kp=R.object({attemptId:R.string(),status:R.enum(z("attempt"))}),bp=R.strictObject({outcome:R.enum(["succeeded","failed","cancelled"]),result:R.unknown().optional(),error:Qs.extend({code:R.string().min(1).max(200),message:R.string().max(2e3)}).optional(),reason:R.string().trim().min(1).max(1e3)}).refine(t=>t.outcome!=="succeeded"||"result"in t,{path:["result"],message:"say what it gave: a word stands (null where it gives nothing)"}),xp=R.object({attemptId:R.string(),runId:R.string(),status:R.enum(z("attempt")),resumed:R.boolean()});import*as O from"zod";var Ep=O.strictObject({reason:O.string().trim().min(1).max(1e3)}),Ip=O.object({runId:O.string(),cancelled:O.boolean(),status:O.enum(z("run"))}),vp=O.object({runId:O.string(),item:O.string(),openItems:O.int(),status:O.enum(z("run"))}),Ap=O.object({runId:O.string(),cleared:O.boolean(),status:O.enum(z("run"))}),Xs=100,Zs=O.strictObject({status:O.array(O.enum(ve)).min(1).max(ve.length).optional(),workflow:O.string().regex(Rt).optional(),admittedAfter:D.optional(),admittedBefore:D.optional(),parentRunId:O.uuid().optional(),attention:O.literal(!0).optional()}).refine(t=>Object.keys(t).length>0,"names no run: give at least one of its members"),Sp=O.strictObject({filter:Zs,reason:O.string().trim().min(1).max(1e3),dryRun:O.boolean().optional(),limit:O.int().min(1).max(Xs).optional(),cursor:O.string().min(1).max(500).optional()}),Cp=O.object({dryRun:O.boolean(),cancelled:O.int(),ending:O.int(),ended:O.int(),runs:O.array(O.object({runId:O.string(),workflow:O.string(),outcome:O.enum(["cancelled","ending","ended"]),status:O.enum(z("run"))})),nextCursor:O.string().nullable()});import*as N from"zod";var ii=N.string().trim().min(1).max(1e3),Rp=N.discriminatedUnion("scope",[N.strictObject({scope:N.literal("all"),reason:ii}),N.strictObject({scope:N.literal("workflow"),workflow:N.string().regex(Rt),reason:ii}),N.strictObject({scope:N.literal("tenant"),reason:ii})]),tr=N.object({pauseId:N.string(),scope:N.enum(Kn),tenantId:N.string().nullable(),workflow:N.string().nullable(),by:N.string(),reason:N.string(),at:D}),$p=N.object({pauses:N.array(tr)}),Dp=N.object({created:N.boolean(),pause:tr}),Op=N.object({lifted:N.boolean(),pause:tr}),pn=N.object({scope:N.enum(["run",...Kn]),pauseId:N.string().nullable(),by:N.string(),reason:N.string(),at:D}),Np=N.object({runId:N.string(),paused:N.boolean(),status:N.enum(z("run")),pauses:N.array(pn)}),Pp=N.object({runId:N.string(),unpaused:N.boolean(),status:N.enum(z("run")),pauses:N.array(pn)});import*as k from"zod";import*as S from"zod";var ea={consentId:S.string(),runId:S.string(),workflow:S.string(),title:S.string(),status:S.enum(z("consent")),digest:S.string(),deciders:S.array(S.string()),quorum:S.int(),requestedBy:S.string(),requesterMayDecide:S.boolean(),onExpiry:S.enum(rt),source:S.string().nullable(),createdAt:D,expiresAt:D.nullable(),closedAt:D.nullable(),closedBy:S.string().nullable()},ta={by:S.string(),verdict:S.enum(Qn),at:D},qp=S.object({...ea,detail:S.unknown(),decisions:S.array(S.object({...ta,comment:S.string().nullable()}))}),na=S.object({...ea,decisions:S.array(S.object(ta)),problem:S.string().nullable()}),Lp=S.object({consents:S.array(na),nextCursor:S.string().nullable()}),Tp=S.strictObject({verdict:S.enum(Qn),digest:S.string().min(1).max(200),comment:S.string().trim().min(1).max(4e3).optional()}),Mp=S.object({consentId:S.string(),runId:S.string(),status:S.enum(z("consent")),repeated:S.boolean(),resumed:S.boolean()}),jp=/^(?!\.{1,2}$)[\x21-\x7e][\x20-\x7e]{0,199}$/,zp='printable ASCII of 1 to 200 characters that begins with no space, and neither "." nor ".."',Gp=S.strictObject({payload:S.unknown().optional()}),Fp=S.object({runId:S.string(),signalId:S.string(),repeated:S.boolean(),resumed:S.boolean()}),si=S.object({kind:S.enum(tn),name:S.string(),scope:S.string(),dueAt:D.nullable(),consentId:S.string().nullable(),attemptId:S.string().nullable(),childRunId:S.string().nullable()});var ra=k.object({reason:k.string(),at:D}),ai=k.object({runId:k.string(),parentRunId:k.string().nullable(),redriveOf:k.string().nullable(),redrivenAs:k.string().nullable(),workflow:$t,status:k.enum(z("run")),queue:k.string(),priority:k.int(),agent:k.string().nullable(),idempotencyKey:k.string().nullable(),requestedBy:k.string(),enqueueSeq:k.int(),steps:k.int(),errorCode:k.string().nullable(),attention:ra.nullable(),quarantine:ra.nullable(),pausedAt:D.nullable(),pauses:k.array(pn),deadlineAt:D.nullable(),createdAt:D,startsAt:D.nullable(),startedAt:D.nullable(),finishedAt:D.nullable()}),oa=k.object({code:k.enum(Vo),name:k.string(),message:k.string(),stack:k.string().optional(),step:k.string().optional()}),ia=k.object({id:k.string(),kind:k.enum(["worker","effect","attempt","child","undo"]),subject:k.string(),enqueueSeq:k.int(),overAt:D.nullable(),createdAt:D,tries:k.int(),lastError:k.string().nullable(),acknowledgedAt:D.nullable(),acknowledgedBy:k.string().nullable(),acknowledgement:k.string().nullable()}),sa=k.object({capacity:k.string(),units:k.int(),name:k.string(),scope:k.string(),status:k.enum(["WAITING","AWAY","HELD","LEFT"]),askedAt:D,heldAt:D.nullable()}),Up=ai.extend({waits:k.array(si),reservations:k.array(sa),input:k.unknown(),output:k.unknown(),error:oa.nullable(),containment:k.array(ia)}),Wp=k.object({runs:k.array(ai),nextCursor:k.string().nullable()}),aa=k.discriminatedUnion("kind",[k.object({kind:k.literal("admitted"),at:D}),k.object({kind:k.literal("delivery"),at:D,enqueueSeq:k.int(),cause:k.enum(Xo),status:k.enum(z("delivery")),dueAt:D}),k.object({kind:k.literal("published"),at:D,enqueueSeq:k.int(),publications:k.int()}),k.object({kind:k.literal("claimed"),at:D,enqueueSeq:k.int(),worker:k.string()}),k.object({kind:k.literal("step"),at:D,enqueueSeq:k.int(),ordinal:k.int(),call:k.enum(tn),name:k.string(),scope:k.string(),nth:k.int(),outcome:k.enum(["ok","error"]),tries:k.int(),startedAt:D}),k.object({kind:k.literal("worker_ended"),at:D,enqueueSeq:k.int(),worker:k.string(),how:k.string()}),k.object({kind:k.literal("settled"),at:D,enqueueSeq:k.int(),outcome:k.enum(Qo)}),k.object({kind:k.literal("fenced"),at:D,enqueueSeq:k.int()}),k.object({kind:k.literal("finished"),at:D,status:k.enum(z("run")),errorCode:k.string().nullable()})]),Bp=k.object({runId:k.string(),status:k.enum(z("run")),entries:k.array(aa)}),da=$t.extend({queue:k.string(),onWorkerLoss:k.enum(["resume","fail"]),inputSchema:k.unknown(),outputSchema:k.unknown()}),Kp=k.object({workflows:k.array(da)});var Hp=pe.object({type:pe.string(),title:pe.string(),status:pe.int(),detail:pe.string(),fix:pe.string().optional(),requestId:pe.string(),errors:pe.array(pe.object({path:pe.string(),message:pe.string()})).optional()});var Pl={};zn(Pl,{DEFAULT_APPLICATION_ROLE:()=>Wi,DEFAULT_SCHEMA:()=>Dt,DRIVERS:()=>_a,LedgerError:()=>T,MAX_BUFFERED_SIGNALS:()=>vn,REDRIVE_REFUSALS:()=>Ku,createRoles:()=>Nl,executorOn:()=>or,inCallersTransaction:()=>ir,migrate:()=>Dl,migrationSql:()=>$l,openLedger:()=>Al,readRunsById:()=>nr,readRunsByKey:()=>Nt,rolesSql:()=>Bi,sqlStateOf:()=>De});var la=new Map,Dt="ghouls",Jp=/^[a-z_][a-z0-9_]{0,39}$/;function _(t,e){return ca({name:t,text:ma(t,e),writes:!1})}i(_,"readStatement");function y(t,e){return ca({name:t,text:ma(t,e),writes:!0})}i(y,"writeStatement");function ca(t){if(la.has(t.name))throw new TypeError(`two statements are called ${t.name}`);return la.set(t.name,t),t}i(ca,"listed");function ma(t,e){return`/* ${t} */
${e.trim()}`}i(ma,"tagged");function Ot(t,e){if(!Jp.test(t))throw new TypeError(`${e} "${t.slice(0,60)}" is not taken: use lower-case letters, digits and "_", at most 40`)}i(Ot,"assertIdentifier");function wt(t,e){return Ot(e,"the schema name"),t.replace(/\bghouls\./g,`${e}.`)}i(wt,"bindSchema");function h(t){let e=i((a,d)=>new TypeError(`column ${a} is ${typeof t[a]}, ${d} was expected`),"fail"),n=i(a=>{let d=t[a];if(typeof d!="string")throw e(a,"text");return d},"text"),r=i(a=>{let d=t[a],u=typeof d=="string"?Number(d):d;if(typeof u!="number"||!Number.isFinite(u))throw e(a,"a number");return u},"number"),o=i(a=>{let d=t[a];if(!(d instanceof Date))throw e(a,"a time");return d},"date"),s=i(a=>d=>t[d]===null?null:a(d),"orNull");return{text:n,textOrNull:s(n),texts:i(a=>{let d=t[a];if(!Array.isArray(d)||!d.every(u=>typeof u=="string"))throw e(a,"a list of texts");return d},"texts"),number:r,numberOrNull:s(r),boolean:i(a=>{let d=t[a];if(typeof d!="boolean")throw e(a,"a boolean");return d},"boolean"),date:o,dateOrNull:s(o)}}i(h,"rows");var Vp=y("runs.admit",`
with bound as materialized (
  select set_config('lock_timeout', $1::text, true) as lock_timeout
), request as materialized (
  select t.*, greatest(ghouls.clock(), t.start_at, ghouls.clock() + t.start_ms * interval '1 millisecond') as starts_at
  from bound, unnest(
    $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[], $9::text[], $10::smallint[],
    $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::double precision[], $17::boolean[],
    $18::double precision[], $20::text[], $21::double precision[], $22::timestamptz[]
  ) with ordinality as t(tenant_id, run_id, idempotency_key, request_digest, workflow_name, workflow_version, workflow_digest, queue,
    priority, agent, requested_by, requested_roles, input_text, input_digest, deadline_ms, held, hold_ms, on_worker_loss, start_ms, start_at, position)
  where bound.lock_timeout is not null
  order by t.tenant_id, t.idempotency_key, t.position
), run as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name,
    workflow_version, workflow_digest, queue, priority, agent, requested_by, requested_roles, status, enqueue_seq,
    input_text, input_digest, deadline_at, created_at, on_worker_loss, starts_at)
  select q.tenant_id, q.run_id, q.run_id, q.idempotency_key, q.request_digest, q.workflow_name, q.workflow_version,
    q.workflow_digest, q.queue, q.priority, q.agent, q.requested_by,
    array(select jsonb_array_elements_text(q.requested_roles::jsonb)), 'QUEUED', 1, q.input_text, q.input_digest,
    q.starts_at + q.deadline_ms * interval '1 millisecond', ghouls.clock(), q.on_worker_loss,
    case when q.starts_at > ghouls.clock() then q.starts_at end
  from request q
  on conflict do nothing
  returning tenant_id, run_id, enqueue_seq, queue, priority
), delivery as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, hold_expires_at,
    next_publication_at, created_at)
  select run.tenant_id, run.run_id, run.enqueue_seq, 'admitted', case when q.held then 'HELD' else 'PENDING' end,
    run.queue, run.priority, q.starts_at,
    case when q.held then ghouls.clock() + q.hold_ms * interval '1 millisecond' end,
    case when not q.held then
      q.starts_at + case when q.starts_at - ghouls.clock() <= $23::double precision * interval '1 second'
        then $19::double precision else 0 end * interval '1 second'
    end,
    ghouls.clock()
  from run join request q on q.tenant_id = run.tenant_id and q.run_id = run.run_id
  returning run_id
)
select delivery.run_id, case when q.starts_at > ghouls.clock() then q.starts_at end as starts_at,
  extract(epoch from q.starts_at - ghouls.clock())::double precision as due_in
from delivery
join request q on q.run_id = delivery.run_id`),fa=`run.tenant_id, run.run_id, run.idempotency_key, run.request_digest, run.workflow_name,
  run.workflow_version, run.workflow_digest, run.queue, run.priority, run.status, run.enqueue_seq,
  d.status = 'HELD' as held, d.status = 'PENDING' and d.published_at is null as unpublished, run.starts_at,
  greatest(0, extract(epoch from d.due_at - ghouls.clock()))::double precision as due_in`,Yp=_("runs.by-key",`
select ${fa}
from unnest($1::text[], $2::text[]) as q(tenant_id, idempotency_key)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.idempotency_key = q.idempotency_key
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`),Qp=_("runs.by-id",`
select ${fa}
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`);async function di(t,e,n){let r=i(s=>e.map(s),"column"),o=await t.run(Vp,[String(n.lockTimeoutMs),r(s=>s.tenantId),r(s=>s.runId),r(s=>s.idempotencyKey),r(s=>s.requestDigest),r(s=>s.workflow.name),r(s=>s.workflow.version),r(s=>s.workflow.digest),r(s=>s.queue),r(s=>s.priority),r(s=>s.agent),r(s=>s.requestedBy),r(s=>JSON.stringify(s.requestedRoles)),r(s=>s.inputText),r(s=>s.inputDigest),r(s=>s.deadlineMs),r(s=>s.held),r(s=>s.holdMs),n.publisherGraceSeconds,r(s=>s.onWorkerLoss),r(({startAfter:s})=>s!==null&&"ms"in s?s.ms:null),r(({startAfter:s})=>s!==null&&"at"in s?s.at:null),xe]);return new Map(o.map(s=>{let a=h(s);return[a.text("run_id"),{startsAt:a.dateOrNull("starts_at"),startsInSeconds:a.number("due_in")}]}))}i(di,"insertRunsIfKeyIsNew");async function Nt(t,e){return(await t.run(Yp,[e.map(r=>r.tenantId),e.map(r=>r.idempotencyKey)])).map(pa)}i(Nt,"readRunsByKey");async function nr(t,e){return(await t.run(Qp,[e.map(r=>r.tenantId),e.map(r=>r.runId)])).map(pa)}i(nr,"readRunsById");function pa(t){let e=h(t);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),idempotencyKey:e.textOrNull("idempotency_key"),requestDigest:e.text("request_digest"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},queue:e.text("queue"),priority:e.number("priority"),status:e.text("status"),enqueueSeq:e.number("enqueue_seq"),held:e.boolean("held"),unpublished:e.boolean("unpublished"),dueInSeconds:e.number("due_in"),startsAt:e.dateOrNull("starts_at")}}i(pa,"admittedRun");var Xp=y("deliveries.release",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), released as (
  update ghouls.deliveries d
  set status = 'PENDING', due_at = greatest(d.due_at, ghouls.clock()),
    next_publication_at = greatest(d.due_at, ghouls.clock())
      + case when d.due_at - ghouls.clock() <= $4::double precision * interval '1 second'
        then $3::double precision else 0 end * interval '1 second'
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq
    and r.status = 'QUEUED' and d.status = 'HELD' and d.hold_expires_at > ghouls.clock()
  returning d.tenant_id, d.run_id, d.due_at
)
update ghouls.runs run
set starts_at = released.due_at,
  deadline_at = run.deadline_at + (released.due_at - coalesce(run.starts_at, run.created_at))
from released
where run.tenant_id = released.tenant_id and run.run_id = released.run_id
returning run.run_id`);async function ha(t,e,n){return(await t.run(Xp,[e.tenantId,e.runId,n,xe])).length===1}i(ha,"releaseDeliveryIfHeld");var eh={retry:"ledger_unavailable",busy:"admission_busy",unavailable:"ledger_unavailable",unknown:"outcome_unknown",schema:"schema_outdated",defect:"internal"},th={retry:"Try again.",busy:"Try again: another transaction holds the same key.",unavailable:"Try again once PostgreSQL answers; check DATABASE_URL (or the secret) and the role's limits.",unknown:"Ask again under the same idempotency key: the answer tells whether it was committed.",schema:"Run `ghouls migrate` with the migrator's connection string."};function nh(t,e){let n=(e instanceof b?e.fix:void 0)??th[t];return n===void 0?{}:{fix:n}}i(nh,"fixOf");var T=class extends b{static{i(this,"LedgerError")}kind;sqlState;statement;constructor(e,n,r,o){super(eh[e],`the ledger could not carry out ${n} (${e}${r?`, SQLSTATE ${r}`:""})`,{...nh(e,o),...e==="defect"||e==="schema"?{}:{retryAfterSeconds:2},cause:o}),this.name="LedgerError",this.kind=e,this.sqlState=r,this.statement=n}},ga=new Set(["42P05","26000"]),rh=new Set(["40001","40P01",...ga]),oh=new Set(["25006","53000","53100","53200","53300","57014","25P03"]),ih=new Set(["42P01","42703","42883","3F000"]);function Xe(t,e){let n=De(t);return n===void 0?{kind:e?"unknown":"unavailable",sqlState:n}:rh.has(n)||rr(t)?{kind:"retry",sqlState:n}:n==="55P03"?{kind:"busy",sqlState:n}:oh.has(n)?{kind:"unavailable",sqlState:n}:n.startsWith("57P")||n.startsWith("08")?{kind:e?"unknown":"unavailable",sqlState:n}:ih.has(n)?{kind:"schema",sqlState:n}:{kind:"defect",sqlState:n}}i(Xe,"classify");function ya(t){return t!==void 0&&ga.has(t)}i(ya,"isNameRefused");function sh(t){return/^(?:57P|08)/.test(t)||t==="25P03"||t==="25P04"}i(sh,"hasEnded");function rr(t){return De(t)==="0A000"&&t instanceof Error&&"routine"in t&&t.routine==="RevalidateCachedQuery"}i(rr,"isPlanStale");function hn(t){let e=t instanceof T?t.sqlState:De(t),n=t instanceof T?t.cause:t;return e===void 0||sh(e)||rr(n)}i(hn,"isOfNoUse");function De(t){if(typeof t!="object"||t===null||!("code"in t))return;let{code:e}=t;return typeof e=="string"&&/^[0-9A-Z]{5}$/.test(e)&&/\d/.test(e)?e:void 0}i(De,"sqlStateOf");var ah=_("caller.state",`
select current_setting('transaction_isolation') as isolation, current_setting('lock_timeout') as lock_timeout,
  statement_timestamp() = transaction_timestamp() as begins_transaction`),dh=y("caller.restore","select set_config('lock_timeout', $1::text, true) as lock_timeout");function or(t,e){return{run:i(async(n,r)=>{try{return(await t.query(wt(n.text,e),[...r])).rows}catch(o){let{kind:s,sqlState:a}=Xe(o,!1);throw new T(s,n.name,a,o)}},"run")}}i(or,"executorOn");async function ir(t,e){let[n]=await t.run(ah,[]),r=String(n?.isolation);if(r!=="read committed")throw new b("wrong_transaction",`an admission inside a ${r.toUpperCase()} transaction is refused`,{fix:"Use READ COMMITTED for the transaction that admits."});if(n?.begins_transaction===!0)throw new b("wrong_transaction","this connection is not inside a transaction",{fix:"Send BEGIN first, and COMMIT after your own statements; then publish the receipt."});let o=await e();return await t.run(dh,[String(n?.lock_timeout)]),o}i(ir,"inCallersTransaction");var _a=["pg","neon"];function sr(t){t.on("connect",e=>{e.on("error",()=>{})}),t.on("error",()=>{})}i(sr,"surviveLostConnections");import{createHash as bh}from"node:crypto";import{parseIntoClientConfig as uh}from"pg-connection-string";function wa(t){if(!/^postgres(?:ql)?:\/\//i.test(t))throw ui(/^[a-z][a-z\d+.-]*:\/\//i.test(t)?"has another scheme than postgres://":"is no URL");let e;try{e=uh(t)}catch(n){throw ui(lh(t,n))}if(e.port!==void 0&&!ba(e.port))throw ui(ka);return e}i(wa,"addressOf");var ka="has a port that is no number from 1 to 65535";function lh(t,e){if(e instanceof Error&&"path"in e&&"code"in e)return`names the file ${String(e.path)}, which cannot be read (${String(e.code)})`;let n=/^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(t)?.[1]??"",r=/:([^:\]]*)$/.exec(n)?.[1];return r!==void 0&&r!==""&&!ba(Number(r))?ka:"cannot be read"}i(lh,"whyUnreadable");function ba(t){return Number.isInteger(t)&&t>=1&&t<=65535}i(ba,"isPort");function ui(t){return new b("configuration_invalid",`the connection string ${t}`,{fix:"Write postgres://user:password@host:port/database, with / ? # % and @ in a password as %2F %3F %23 %25 and %40."})}i(ui,"invalid");async function xa(t){let e=await import("@neondatabase/serverless"),{Query:n}=e.Client;class r extends n{static{i(this,"ExtendedQuery")}requiresPreparation(){return!0}}class o extends e.Client{static{i(this,"Client")}constructor(a){super(a);let d=this.query.bind(this),u=i((...l)=>ch(l[0])?new Promise((c,m)=>{let f=i((p,w)=>p?m(p):c(w),"done");d(new r(l[0],void 0,f))}):d(...l),"query");this.query=u,t!==void 0&&(this.neonConfig.wsProxy=t,this.neonConfig.useSecureWebSocket=!1,this.neonConfig.pipelineTLS=!1,this.neonConfig.pipelineConnect=!1,this.neonConfig.coalesceWrites=!1)}}return s=>{let a=new e.Pool(s);return a.Client=o,sr(a),a}}i(xa,"neonPool");function ch(t){return typeof t=="object"&&t!==null&&"queryMode"in t}i(ch,"isExtended");import mh from"pg";import fh from"pg-types/lib/textParsers.js";var{init:ph}=fh,Ea=new Map;ph((t,e)=>{Ea.set(t,e)});var hh={getTypeParser:i(t=>Ea.get(t)??String,"getTypeParser")},Ia=i(t=>{let e=new mh.Pool({...t,types:hh});return sr(e),e},"openPgPool");var ar=class{static{i(this,"Patience")}#e;#t;#n=new AbortController;constructor(e,n){this.#e=n,this.#t=setTimeout(()=>this.#n.abort(),e)}get over(){return this.#n.signal.aborted}end(){clearTimeout(this.#t)}async allows(e,n=400){if(this.over)return!1;let r=Math.min(n,50*2**(e-1))*(.5+this.#e());return await this.bound(new Promise(o=>setTimeout(o,r))),!this.over}async bound(e){if(this.over)return e;let{signal:n}=this.#n,r,o=new Promise(s=>{r=i(()=>s(void 0),"stop"),n.addEventListener("abort",r,{once:!0})});try{return await Promise.race([e,o])}finally{r!==void 0&&n.removeEventListener("abort",r)}}};var gh=new Set(["ECONNREFUSED","ECONNRESET","ETIMEDOUT","EPIPE","EHOSTUNREACH","ENETUNREACH","EAI_AGAIN"]),yh=/^Connection terminated|timeout expired|timeout exceeded when trying to connect/i;function va(t){if(li(t))return!1;let e=De(t);return e!==void 0?e==="57P03"||e==="53300"||e.startsWith("08"):t instanceof Error?"code"in t&&typeof t.code=="string"?gh.has(t.code):yh.test(t.message):!0}i(va,"mayComeSoon");var _h=/\bauthentication failed\b/i;function li(t){let e=De(t);return e==="08P01"?t instanceof Error&&_h.test(t.message):e==="28P01"||e==="28000"}i(li,"isRefused");var wh=2e3,Pt=class{static{i(this,"Connections")}max;#e;#t;#n;#r;#o=new Set;#i;constructor(e){this.#e=e,this.max=e.maxConnections??2,this.#t=e.chance??(()=>.5)}patience(){return new ar(this.#e.connectPatienceMs??1e4,this.#t)}async connect(e,n){let r=0,o=new Error("no connection in time");for(let s=1;;s+=1){let a,d=!1;try{a=await this.#a(this.#s(),n),d=this.#m(a);let u=await this.#f(a,n);if(u!==void 0)return u}catch(u){if(o=u,a!==void 0&&li(u)){if(r+=1,await this.#a(this.#c(a),n).catch(ci(e))&&r===1||this.#d&&await n.allows(s,wh))continue;return ci(e)(u)}if(a!==void 0&&a.state!=="current"||!(a!==void 0&&d&&this.#m(a))&&va(u)&&await n.allows(s))continue}return ci(e)(o)}}async#a(e,n){if(!this.#d)return e;let r=await n.bound(e.then(o=>({value:o})));if(r===void 0)throw kh();return r.value}get#d(){return typeof this.#e.connectionString!="string"}#m(e){return e.held>=this.max}async#f(e,n){e.waiting+=1;let r=e.pool.connect().finally(()=>{e.waiting-=1,this.#p(e)}),o=await n.bound(r);if(o===void 0){r.then(s=>s.release(!1),()=>{});return}return e.held+=1,{keepsNames:e.keepsNames,query:i(s=>o.query(s),"query"),release:i(s=>{e.held-=1,o.release(s)},"release")}}async#s(){this.#y(),this.#n??=this.#u().then(n=>this.#l(n));let e=this.#n;try{return await e}catch(n){throw this.#n===e&&(this.#n=void 0),n}}async#u(){let{connectionString:e}=this.#e;if(typeof e=="string")return e;let n=this.patience();try{return await this.#a(e(),n)}finally{n.end()}}async#l(e){let{driver:n="pg",neonProxy:r,password:o}=this.#e,s=wa(e),a=n==="neon"?await xa(r):Ia;this.#y();let d=a({application_name:this.#e.applicationName??"ghouls",query_timeout:this.#e.answerTimeoutMs??2e4,...s,...o===void 0?{}:{password:o},max:this.max,connectionTimeoutMillis:this.#e.connectTimeoutMs??5e3,idleTimeoutMillis:3e4,allowExitOnIdle:!0}),u=n==="pg"&&!/-pooler\b/.test(s.host??""),l={connectionString:e,pool:d,keepsNames:u,waiting:0,held:0,state:"current",ending:void 0};return this.#o.add(l),l}async#c(e){return e.state!=="current"?!0:this.#d?(this.#r??=this.#h(e).finally(()=>{this.#r=void 0}),this.#r):!1}async#h(e){let n=await this.#u();if(n===e.connectionString)return!1;let r=await this.#l(n);return e.state="replaced",this.#n=Promise.resolve(r),this.#p(e),!0}#p(e){e.state!=="replaced"||e.waiting>0||this.#g(e)}#g(e){return e.state="ended",e.ending??=e.pool.end().finally(()=>this.#o.delete(e)),e.ending}#y(){if(this.#i!==void 0)throw new Error("the ledger has been closed")}close(){return this.#i??=this.#k(),this.#i}async#k(){await Promise.all([...this.#o].map(e=>this.#g(e)))}};function kh(){return new Error("the connection string was not fetched in time")}i(kh,"unfetched");function ci(t){return e=>{throw e instanceof T?e:new T("unavailable",t,Xe(e,!1).sqlState,e)}}i(ci,"unavailable");var dr=class{static{i(this,"OpenTransaction")}#e;#t=!1;#n=!1;constructor(e){this.#e=e}async run(e,n){return this.#i(this.#e.send(this.#o(),e,n))}async ask(e,n){let r=this.#o(),{faults:o,what:s}=this.#e,a=i(async()=>{await o("ledger.before-statement",`${s}.ask`);let d=await r.query({text:e,values:[...n],queryMode:"extended"});return await o("ledger.after-statement",`${s}.ask`),d},"asking");return this.#i(a())}async commit(){let e=this.#o();try{await this.#r(e)}catch(n){throw hn(n)&&(this.#n=!0),n}this.#d(!1)}async#r(e){let{faults:n,what:r}=this.#e,o;try{await n("ledger.before-commit",r),o=(await this.#a(e.query("commit"))).command,await n("ledger.after-commit",r)}catch(s){let{kind:a,sqlState:d}=Xe(s,!0);throw new T(a,`${r}: commit`,d,s)}if(o!=="COMMIT")throw new T("defect",`${r}: commit answered ${o}`,void 0,void 0)}async rollback(e=this.#e.answerWithinMs){if(this.#t)return;this.#t=!0;let n=this.#n?!1:await Aa(this.#e.held.query("rollback"),e).then(()=>!0,()=>!1);this.#d(!n)}#o(){if(this.#t)throw new Error(`${this.#e.what}: the transaction is over`);return this.#e.held}async#i(e){try{return await this.#a(e)}catch(n){throw hn(n)&&(this.#n=!0),n}}#a(e){return Aa(e,this.#e.answerWithinMs)}#d(e){this.#t=!0,this.#e.held.release(e),this.#e.ended?.()}};async function Aa(t,e){if(e===void 0)return t;let n,r=new Promise((o,s)=>{n=setTimeout(()=>s(new Error(`no answer within ${e} ms`)),e)});try{return await Promise.race([t,r])}finally{clearTimeout(n)}}i(Aa,"inTime");var ur=class{static{i(this,"Turns")}#e;#t=[];constructor(e){this.#e=e}async take(e){return this.#e>0?(this.#e-=1,!0):new Promise(n=>{let r=i(()=>{clearTimeout(o),n(!0)},"taken"),o=setTimeout(()=>{this.#t.splice(this.#t.indexOf(r),1),n(!1)},e);this.#t.push(r)})}give(){let e=this.#t.shift();e===void 0?this.#e+=1:e(!0)}};var xh=4,lr=class{static{i(this,"Database")}schema;turns;#e;#t;#n;#r;#o=new Map;#i=!1;constructor(e){this.schema=e.schema??Dt,wt("",this.schema),this.#t=e.preparedStatements,this.#n=e.faults??Oo,this.#r=e.chance??(()=>.5),this.#e=new Pt(e),this.turns=new ur(Math.max(1,this.#e.max-1))}async run(e,n){let r=this.#e.patience(),o=!1,s=!0,a=i(d=>o&&d instanceof T&&d.kind!=="unknown"?new T("unknown",e.name,d.sqlState,d):d,"asTold");try{for(let d=1;;d+=1){let u=await this.#e.connect(e.name,r).catch(l=>{throw a(l)});try{return await this.#a(u,e,n,s)}catch(l){if(l instanceof T&&rr(l.cause)&&(s=!1),o||=l instanceof T&&l.kind==="unknown",!(l instanceof T)||!Sa(l)||d>=Ca(l))throw a(l);await this.#s(d)}}}finally{r.end()}}async#a(e,n,r,o){let s=!0;try{let a=await this.#d(e,n,r,o);return s=!1,a}catch(a){throw s=hn(a),a}finally{e.release(s)}}async#d(e,n,r,o=!0){try{await this.#n("ledger.before-statement",n.name);let{text:s,name:a}=this.#m(n),d=o&&!this.#i&&(this.#t??e.keepsNames),u=await e.query({text:s,values:[...r],...d?{name:a}:{}});return await this.#n("ledger.after-statement",n.name),u.rows}catch(s){let{kind:a,sqlState:d}=Xe(s,n.writes);throw ya(d)&&(this.#i=!0),new T(a,n.name,d,s)}}#m(e){let n=this.#o.get(e.name);if(n===void 0){let r=wt(e.text,this.schema),o=bh("sha256").update(r).digest("hex").slice(0,12);n={text:r,name:`${e.name}:${o}`},this.#o.set(e.name,n)}return n}async transaction(e,n){let r=await this.begin(e);try{let o=await n({run:i((s,a)=>r.run(s,a),"run")});return await r.commit(),o}catch(o){throw await r.rollback(),o}}async begin(e,n,r){return new dr({held:await this.#f(e),what:e,faults:this.#n,send:i((o,s,a)=>this.#d(o,s,a),"send"),answerWithinMs:n,ended:r})}async#f(e){let n=this.#e.patience();try{for(let r=1;;r+=1){let o=await this.#e.connect(e,n);try{return await o.query("begin isolation level read committed"),o}catch(s){o.release(!0);let{kind:a,sqlState:d}=Xe(s,!1),u=new T(a,`${e}: begin`,d,s);if(!Sa(u)||r>=Ca(u))throw u;await this.#s(r)}}}finally{n.end()}}#s(e){let n=25*4**(e-1)*(.5+this.#r());return new Promise(r=>setTimeout(r,n))}async close(){await this.#e.close()}};function Sa(t){return t.kind!=="defect"&&t.kind!=="schema"&&t.kind!=="busy"}i(Sa,"isRepeatable");function Ca(t){return t.cause instanceof Error&&/read timeout/i.test(t.cause.message)||t.sqlState==="57014"?2:xh}i(Ca,"triesOf");var Ra={number:1,name:"runs",sql:`
create function ghouls.clock() returns timestamptz
  language sql stable parallel safe
  as 'select statement_timestamp()';
comment on function ghouls.clock() is 'The only time that the protocol knows. Tests replace it.';

create table ghouls.workflows (
  name text not null,
  version integer not null,
  digest text not null,
  build text not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  primary key (name, version, digest)
);
comment on table ghouls.workflows is 'Which builds have which workflows. Belongs to the deployment, so it has no tenant.';

create table ghouls.runs (
  tenant_id text not null check (tenant_id <> ''),
  run_id uuid not null,
  first_run_id uuid not null,
  idempotency_key text,
  request_digest text not null,
  workflow_name text not null,
  workflow_version integer not null,
  workflow_digest text not null,
  queue text not null,
  priority smallint not null check (priority between 0 and 9),
  agent text,
  requested_by text not null,
  requested_roles text[] not null,
  status text not null check (status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER', 'COMPLETING', 'FAILING', 'CANCELLING',
    'DONE', 'FAILED', 'CANCELLED')),
  enqueue_seq integer not null check (enqueue_seq >= 1),
  journal_length integer not null default 0 check (journal_length >= 0),
  journal_bytes bigint not null default 0 check (journal_bytes >= 0),
  input_text text,
  input_digest text not null,
  output_text text,
  output_digest text,
  error_code text,
  error_text text,
  error_digest text,
  attention_reason text,
  attention_at timestamptz,
  quarantine_reason text,
  quarantined_at timestamptz,
  paused_at timestamptz,
  deadline_at timestamptz,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (tenant_id, run_id),
  constraint runs_run_id_key unique (run_id),
  constraint runs_idempotency_key unique (tenant_id, idempotency_key),
  constraint runs_finished check ((status in ('DONE', 'FAILED', 'CANCELLED')) = (finished_at is not null)),
  constraint runs_started check (status in ('QUEUED', 'FAILING', 'FAILED', 'CANCELLING', 'CANCELLED')
    or started_at is not null),
  constraint runs_failed check ((status in ('FAILING', 'FAILED')) = (error_code is not null)),
  constraint runs_error check (num_nulls(error_code, error_digest) <> 1 and (error_text is null or error_code is not null)),
  constraint runs_output check ((output_text is null or output_digest is not null)
    and (output_digest is null or status in ('COMPLETING', 'DONE'))),
  constraint runs_input check (input_text is not null or finished_at is not null),
  constraint runs_attention check (num_nulls(attention_reason, attention_at) <> 1),
  constraint runs_quarantine check (num_nulls(quarantine_reason, quarantined_at) <> 1)
);
create index runs_newest on ghouls.runs (tenant_id, created_at desc, run_id desc);
create index runs_by_status on ghouls.runs (tenant_id, status, created_at desc, run_id desc);
create index runs_by_workflow on ghouls.runs (tenant_id, workflow_name, created_at desc, run_id desc);
create index runs_with_attention on ghouls.runs (tenant_id, created_at desc, run_id desc)
  where attention_at is not null or quarantined_at is not null;

create table ghouls.deliveries (
  tenant_id text not null,
  run_id uuid not null,
  seq integer not null check (seq >= 1),
  cause text not null check (cause in ('admitted', 'resumed', 'continued', 'recovered', 'contain')),
  status text not null check (status in ('HELD', 'PENDING', 'CLAIMED', 'SETTLED', 'FENCED')),
  outcome text check (outcome in ('done', 'failed', 'parked', 'continued', 'lost', 'given_back',
    'refused')),
  queue text not null,
  priority smallint not null,
  checkpoint_generation integer,
  due_at timestamptz not null,
  hold_expires_at timestamptz,
  publications integer not null default 0,
  publication_failures integer not null default 0,
  publication_error text,
  published_at timestamptz,
  next_publication_at timestamptz,
  token uuid,
  claimed_by text,
  claimed_at timestamptz,
  lease_until timestamptz,
  acts_until timestamptz,
  worker_ended_at timestamptz,
  worker_end text,
  created_at timestamptz not null,
  settled_at timestamptz,
  fenced_at timestamptz,
  primary key (tenant_id, run_id, seq),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint deliveries_held check (status <> 'HELD' or hold_expires_at is not null),
  constraint deliveries_unclaimed check (status not in ('HELD', 'PENDING') or token is null),
  constraint deliveries_claimed check (num_nulls(token, claimed_by, claimed_at, lease_until) in (0, 4)
    and (status not in ('CLAIMED', 'SETTLED') or token is not null)),
  constraint deliveries_settled check ((status = 'SETTLED') = (settled_at is not null)
    and (settled_at is null) = (outcome is null)),
  constraint deliveries_fenced check ((status = 'FENCED') = (fenced_at is not null)),
  constraint deliveries_worker_end check (num_nulls(worker_ended_at, worker_end) <> 1)
);
create unique index deliveries_one_open on ghouls.deliveries (tenant_id, run_id)
  where status in ('HELD', 'PENDING', 'CLAIMED');
create index deliveries_publishable on ghouls.deliveries (priority, next_publication_at)
  where status = 'PENDING';
create index deliveries_by_worker on ghouls.deliveries (claimed_by) where status = 'CLAIMED';
create index deliveries_by_lease on ghouls.deliveries (lease_until) where status = 'CLAIMED';

create table ghouls.journal (
  tenant_id text not null,
  run_id uuid not null,
  ordinal integer not null check (ordinal >= 1),
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  outcome text not null check (outcome in ('ok', 'error')),
  result_text text,
  result_digest text,
  tries integer not null,
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  completed_at timestamptz not null,
  primary key (tenant_id, run_id, ordinal),
  constraint journal_call unique (tenant_id, run_id, epoch, scope, kind, name, nth),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint journal_result check (result_text is null or result_digest is not null)
);

create function ghouls.keep_terminal_run() returns trigger
  language plpgsql
  as $function$
declare
  allowed ghouls.runs%rowtype := new;
begin
  allowed.attention_reason := old.attention_reason;
  allowed.attention_at := old.attention_at;
  allowed.quarantine_reason := old.quarantine_reason;
  allowed.quarantined_at := old.quarantined_at;
  if new.input_text is null then allowed.input_text := old.input_text; end if;
  if new.output_text is null then allowed.output_text := old.output_text; end if;
  if new.error_text is null then allowed.error_text := old.error_text; end if;
  if allowed is distinct from old then
    raise exception 'a terminal run does not change' using errcode = 'GH001';
  end if;
  return new;
end
$function$;
create trigger keep_terminal_run before update on ghouls.runs
  for each row when (old.status in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.keep_terminal_run();
`};var $a={number:2,name:"containment",sql:`
alter table ghouls.runs
  add column on_worker_loss text not null default 'fail' check (on_worker_loss in ('resume', 'fail')),
  add column losses integer not null default 0 check (losses >= 0),
  add column idle_yields integer not null default 0 check (idle_yields >= 0),
  add column generation integer not null default 0 check (generation >= 0),
  add column open_items integer not null default 0 check (open_items >= 0),
  add column cancel_reason text,
  add column cancelled_by text,
  add constraint runs_contained check (status not in ('DONE', 'FAILED', 'CANCELLED') or open_items = 0);

create index runs_endable on ghouls.runs (created_at)
  where status in ('COMPLETING', 'FAILING', 'CANCELLING') and open_items = 0;

create table ghouls.checkpoints (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  workflow_digest text not null,
  journal_length integer not null,
  journal_digest text not null,
  created_at timestamptz not null,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);

create table ghouls.containment_items (
  tenant_id text not null,
  run_id uuid not null,
  kind text not null check (kind in ('worker', 'effect')),
  key text not null,
  seq integer not null,
  token uuid not null,
  worker text not null,
  over_at timestamptz,
  created_at timestamptz not null,
  next_look_at timestamptz not null,
  tries integer not null default 0,
  last_error text,
  acknowledged_at timestamptz,
  acknowledged_by text,
  acknowledgement text,
  primary key (tenant_id, run_id, kind, key),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint containment_items_acknowledged check (num_nulls(acknowledged_at, acknowledged_by) <> 1)
);
comment on column ghouls.containment_items.over_at is
  'When nothing of it can still act; null where only its worker, a supervisor or an operator can tell.';
create index containment_items_due on ghouls.containment_items (next_look_at) where acknowledged_at is null;
create index containment_items_by_worker on ghouls.containment_items (worker)
  where acknowledged_at is null and kind = 'worker';

create table ghouls.intents (
  tenant_id text not null,
  run_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  number integer not null check (number >= 1),
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  outcome text check (outcome in ('happened', 'not_done', 'cannot_happen', 'failed', 'resolved')),
  outcome_at timestamptz,
  primary key (tenant_id, run_id, epoch, scope, kind, name, nth, number),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint intents_outcome check (num_nulls(outcome, outcome_at) <> 1)
);
comment on table ghouls.intents is 'An effect that happens once: committed before its call. Without an outcome nobody knows.';
create unique index intents_one_open on ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth)
  where outcome is null;

create table ghouls.evidence (
  tenant_id text not null,
  run_id uuid not null,
  evidence_id uuid not null,
  class text not null check (class in ('rejected')),
  seq integer not null,
  token uuid not null,
  call text not null,
  outcome text not null,
  body_text text,
  body_digest text,
  recorded_at timestamptz not null,
  primary key (tenant_id, run_id, evidence_id)
);
comment on table ghouls.evidence is
  'What came from a worker that had been fenced. Written without the lock of its run, so it has no reference to it.';

create table ghouls.audit (
  tenant_id text not null,
  run_id uuid not null,
  audit_id uuid not null,
  actor text not null,
  act text not null,
  subject text not null,
  reason text not null,
  at timestamptz not null,
  primary key (tenant_id, run_id, audit_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id)
);
comment on table ghouls.audit is 'Operators acts, append only.';
`};var Da={number:3,name:"doctor",sql:`
create view ghouls.doctor_open_deliveries as
select d.tenant_id, d.run_id, d.seq, d.status as delivery_status, d.cause, run.status as run_status
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and (d.seq <> run.enqueue_seq or not (
  (d.status in ('HELD', 'PENDING') and run.status = 'QUEUED')
  or (d.status = 'CLAIMED' and run.status in ('RUNNING', 'AWAITING_HARDWARE'))
  or (d.cause = 'contain' and run.status in ('COMPLETING', 'FAILING', 'CANCELLING'))));

create view ghouls.doctor_working_runs as
select run.tenant_id, run.run_id, run.status, run.enqueue_seq
from ghouls.runs run
where run.status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq and d.status in ('HELD', 'PENDING', 'CLAIMED'));

create view ghouls.doctor_terminal_runs as
select run.tenant_id, run.run_id, run.status, d.seq, null::text as item, null::text as effect
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, i.kind || ' ' || i.key, null
from ghouls.containment_items i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.acknowledged_at is null and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, null, i.name
from ghouls.intents i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.outcome is null and run.status in ('DONE', 'FAILED', 'CANCELLED');

create view ghouls.doctor_pending_deliveries as
select d.tenant_id, d.run_id, d.seq, d.due_at
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'PENDING' and d.next_publication_at is null and run.paused_at is null and run.quarantined_at is null;

create view ghouls.doctor_journals as
select run.tenant_id, run.run_id, run.status, run.journal_length, count(j.ordinal) as entries
from ghouls.runs run
left join ghouls.journal j on j.tenant_id = run.tenant_id and j.run_id = run.run_id
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(j.ordinal) <> run.journal_length;

create view ghouls.doctor_open_items as
select run.tenant_id, run.run_id, run.status, run.open_items, count(i.key) as items
from ghouls.runs run
left join ghouls.containment_items i
  on i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(i.key) <> run.open_items;

create view ghouls.doctor_endings as
select run.tenant_id, run.run_id, run.status, run.open_items
from ghouls.runs run
where run.status in ('COMPLETING', 'FAILING', 'CANCELLING') and run.open_items = 0
  and (run.quarantined_at is null or run.status = 'CANCELLING') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED');

create view ghouls.doctor_lost_claims as
select d.tenant_id, d.run_id, d.seq, d.claimed_by, d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end
from ghouls.deliveries d
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() - interval '5 minutes';

create view ghouls.doctor_quarantined_runs as
select run.tenant_id, run.run_id, run.status, run.quarantine_reason, run.quarantined_at
from ghouls.runs run
where run.quarantined_at is not null;

create view ghouls.doctor_runs_with_attention as
select run.tenant_id, run.run_id, run.status, run.attention_reason, run.attention_at
from ghouls.runs run
where run.attention_at is not null and run.status not in ('DONE', 'FAILED', 'CANCELLED');
`};var Oa={number:4,name:"holds",sql:`
create index deliveries_by_hold on ghouls.deliveries (hold_expires_at) where status = 'HELD';
`};var Na={number:5,name:"overlap",sql:`
alter table ghouls.runs add column workflow_absent_since timestamptz;
comment on column ghouls.runs.workflow_absent_since is
  'The first give-back in a row by a build without the workflow of this run; null once a hop has started.';
`};var Pa={number:6,name:"keys",sql:`
create table ghouls.api_keys (
  tenant_id text not null check (tenant_id <> ''),
  key_id text not null check (key_id <> ''),
  digest text not null check (digest ~ '^[0-9a-f]{64}$'),
  subject text not null check (subject <> ''),
  roles text[] not null,
  permissions text[] not null,
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  revoked_by text,
  revocation_reason text,
  primary key (tenant_id, key_id),
  constraint api_keys_key_id_key unique (key_id),
  constraint api_keys_revoked check (num_nulls(revoked_at, revoked_by, revocation_reason) in (0, 3))
);
comment on table ghouls.api_keys is
  'A row stays when its key has ended, and tells who made and who revoked it. The application only reads it and says when a key was used.';
comment on column ghouls.api_keys.digest is 'SHA-256 of the text of the key, which is nowhere else.';
comment on column ghouls.api_keys.last_used_at is 'To the hour: not written at every request.';
`};var qa={number:7,name:"waits",sql:`
alter table ghouls.runs
  add column epoch integer not null default 0 check (epoch >= 0),
  add column journal_start integer not null default 0 check (journal_start >= 0);
comment on column ghouls.runs.epoch is 'How often the run has continued as new.';
comment on column ghouls.runs.journal_start is 'The journal of this epoch begins behind this ordinal.';
create index runs_by_deadline on ghouls.runs (deadline_at, run_id)
  where deadline_at is not null and status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER');

create table ghouls.waits (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  closed_by uuid,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);
create unique index waits_one_open on ghouls.waits (tenant_id, run_id) where closed_at is null;

create table ghouls.arms (
  tenant_id text not null,
  run_id uuid not null,
  arm_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  owner text not null check (owner in ('consent', 'signal', 'timer')),
  generation integer not null,
  seq integer not null,
  due_at timestamptz,
  tries integer check (tries >= 1),
  created_at timestamptz not null,
  closed_at timestamptz,
  closing text check (closing in ('fact', 'step', 'restart', 'ended')),
  primary key (tenant_id, run_id, arm_id),
  constraint arms_arm_id_key unique (arm_id),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint arms_closed check (num_nulls(closed_at, closing) <> 1),
  constraint arms_timer check (owner <> 'timer' or due_at is not null),
  constraint arms_retry check ((kind = 'step') = (tries is not null))
);
comment on column ghouls.arms.generation is 'Of the wait that holds it, or that held it last.';
comment on column ghouls.arms.due_at is 'When its time is over; null where it has none.';
create unique index arms_one_open on ghouls.arms (tenant_id, run_id, epoch, scope, kind, name, nth)
  where closed_at is null;
create index arms_due on ghouls.arms (due_at, run_id) where closed_at is null and due_at is not null;

create table ghouls.consents (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  arm_id uuid not null,
  status text not null check (status in ('PENDING', 'GRANTED', 'DENIED', 'EXPIRED', 'CANCELLED')),
  title text not null,
  request_text text not null,
  stored_digest text not null,
  request_digest text not null,
  deciders text[] not null check (cardinality(deciders) >= 1),
  quorum integer not null check (quorum >= 1),
  requester_may_decide boolean not null,
  on_expiry text not null check (on_expiry in ('expire', 'grant', 'deny')),
  source text,
  next_look_at timestamptz,
  looks integer not null default 0,
  created_at timestamptz not null,
  expires_at timestamptz,
  closed_at timestamptz,
  closed_by text,
  primary key (tenant_id, run_id, consent_id),
  constraint consents_consent_id_key unique (consent_id),
  foreign key (tenant_id, run_id, arm_id) references ghouls.arms (tenant_id, run_id, arm_id),
  constraint consents_closed check ((status = 'PENDING') = (closed_at is null) and num_nulls(closed_at, closed_by) <> 1),
  constraint consents_source check (source is null or status <> 'PENDING' or next_look_at is not null)
);
create unique index consents_of_arm on ghouls.consents (tenant_id, run_id, arm_id);
create index consents_newest on ghouls.consents (tenant_id, created_at desc, consent_id desc);
create index consents_pending on ghouls.consents (tenant_id, created_at desc, consent_id desc) where status = 'PENDING';
create index consents_to_look_up on ghouls.consents (next_look_at, run_id)
  where status = 'PENDING' and source is not null;

create table ghouls.consent_decisions (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  subject text not null,
  verdict text not null check (verdict in ('grant', 'deny')),
  comment_text text,
  comment_digest text,
  decided_at timestamptz not null,
  primary key (tenant_id, run_id, consent_id, subject),
  foreign key (tenant_id, run_id, consent_id) references ghouls.consents (tenant_id, run_id, consent_id),
  constraint consent_decisions_comment check (comment_text is null or comment_digest is not null)
);

create table ghouls.signals (
  tenant_id text not null,
  run_id uuid not null,
  signal_id uuid not null,
  name text not null,
  idempotency_key text,
  request_digest text not null,
  payload_text text,
  payload_digest text,
  sent_by text not null,
  received_at timestamptz not null,
  consumed_at timestamptz,
  consumed_by uuid,
  primary key (tenant_id, run_id, signal_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint signals_idempotency_key unique (tenant_id, run_id, idempotency_key),
  constraint signals_consumed check (num_nulls(consumed_at, consumed_by) <> 1),
  constraint signals_payload check (payload_text is null or payload_digest is not null)
);
create index signals_buffered on ghouls.signals (tenant_id, run_id, name, received_at, signal_id)
  where consumed_at is null;

create function ghouls.close_waits() returns trigger
  language plpgsql
  as $function$
begin
  update ghouls.consents set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = 'the end of its run'
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'PENDING';
  update ghouls.arms set closed_at = ghouls.clock(), closing = 'ended'
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  update ghouls.waits set closed_at = ghouls.clock()
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  return null;
end
$function$;
create trigger close_waits after update of status on ghouls.runs
  for each row when (new.generation > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.close_waits();

create view ghouls.doctor_waits as
select run.tenant_id, run.run_id, run.status, run.generation,
  (select count(*) from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
    and w.generation = run.generation and w.closed_at is null) as waits,
  (select count(*) from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
    and a.generation = run.generation and a.closed_at is null) as arms,
  (select count(*) from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
    and c.generation = run.generation) as checkpoints
from ghouls.runs run
where run.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
  and not (
    exists (select from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
      and w.generation = run.generation and w.closed_at is null)
    and exists (select from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
      and a.generation = run.generation and a.closed_at is null)
    and exists (select from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
      and c.generation = run.generation));

create view ghouls.doctor_ended_waits as
select run.tenant_id, run.run_id, run.status, w.generation, null::uuid as arm_id, null::uuid as consent_id
from ghouls.waits w
join ghouls.runs run on run.tenant_id = w.tenant_id and run.run_id = w.run_id
where w.closed_at is null
  and run.status not in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
union all
select run.tenant_id, run.run_id, run.status, a.generation, a.arm_id, null
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null
  and run.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
union all
select a.tenant_id, a.run_id, null, a.generation, a.arm_id, c.consent_id
from ghouls.consents c
join ghouls.arms a on a.tenant_id = c.tenant_id and a.run_id = c.run_id and a.arm_id = c.arm_id
where c.status = 'PENDING' and a.closed_at is not null;
`};var La={number:8,name:"starts",sql:`
alter table ghouls.runs add column starts_at timestamptz;
comment on column ghouls.runs.starts_at is
  'What now() of its code begins with: the start that it was given, its release from hold, or its last restart; null: its admission.';
`};var Ta={number:9,name:"attempts",sql:`
alter table ghouls.arms drop constraint arms_owner_check;
alter table ghouls.arms add constraint arms_owner_check check (owner in ('consent', 'delegate', 'signal', 'timer'));
alter table ghouls.containment_items drop constraint containment_items_kind_check;
alter table ghouls.containment_items add constraint containment_items_kind_check
  check (kind in ('worker', 'effect', 'attempt'));

create table ghouls.attempts (
  tenant_id text not null,
  run_id uuid not null,
  attempt_id uuid not null,
  arm_id uuid not null,
  call_key text not null,
  status text not null check (status in ('DEFINED', 'SUBMITTING', 'SUBMITTED', 'RUNNING', 'UNCERTAIN', 'SUCCEEDED',
    'FAILED', 'CANCELLED')),
  service text not null,
  adapter text not null,
  adapter_version text not null,
  service_digest text not null,
  lookup text not null check (lookup in ('authoritative', 'advisory', 'none')),
  submit text not null check (submit in ('idempotent', 'once')),
  cancel text not null check (cancel in ('final', 'advisory', 'none')),
  delay_seconds double precision not null check (delay_seconds >= 0),
  poll_seconds double precision check (poll_seconds > 0),
  heartbeat_seconds double precision check (heartbeat_seconds > 0),
  request_text text not null,
  stored_digest text not null,
  request_digest text not null,
  idempotency_key text not null,
  token uuid,
  submitter text,
  sends_until timestamptz,
  submissions integer not null default 0 check (submissions >= 0),
  acknowledged_at timestamptz,
  callback_digest text,
  callback_expires_at timestamptz,
  callback_used_at timestamptz,
  heartbeat_at timestamptz,
  deadline_at timestamptz,
  cancel_asked_at timestamptz,
  cancel_reason text check (cancel_reason in ('deadline', 'ended', 'restart')),
  next_look_at timestamptz,
  looks integer not null default 0 check (looks >= 0),
  misses integer not null default 0 check (misses >= 0),
  uncertain_reason text,
  unsent boolean not null default false,
  trouble text,
  trouble_at timestamptz,
  report_text text,
  report_digest text,
  contradiction text,
  created_at timestamptz not null,
  closed_at timestamptz,
  closed_by text,
  primary key (tenant_id, run_id, attempt_id),
  constraint attempts_attempt_id_key unique (attempt_id),
  constraint attempts_idempotency_key unique (tenant_id, idempotency_key),
  constraint attempts_of_call unique (tenant_id, run_id, call_key),
  foreign key (tenant_id, run_id, arm_id) references ghouls.arms (tenant_id, run_id, arm_id),
  constraint attempts_closed check (
    (status in ('SUCCEEDED', 'FAILED', 'CANCELLED')) = (closed_at is not null)
    and num_nulls(closed_at, closed_by) <> 1),
  constraint attempts_sent check (
    (submissions > 0) = (token is not null) and num_nulls(token, sends_until, submitter) in (0, 3)
    and (status in ('DEFINED', 'CANCELLED') or token is not null) and (status <> 'DEFINED' or token is null)),
  constraint attempts_looked_at check (
    (status in ('SUCCEEDED', 'FAILED', 'CANCELLED')) = (next_look_at is null)),
  constraint attempts_report check (
    (status in ('SUCCEEDED', 'FAILED')) = (report_digest is not null)
    and (report_text is null or report_digest is not null)),
  constraint attempts_uncertain check ((status = 'UNCERTAIN') = (uncertain_reason is not null)),
  constraint attempts_cancel check (num_nulls(cancel_asked_at, cancel_reason) <> 1),
  constraint attempts_trouble check (num_nulls(trouble, trouble_at) <> 1)
);
comment on table ghouls.attempts is 'ServiceJobAttempt: one delegated job at another service.';
comment on column ghouls.attempts.sends_until is
  'The latest moment at which whoever holds the token, or held it last, can still send.';
comment on column ghouls.attempts.service_digest is 'Of what identifies its service: the executor that was meant.';
comment on column ghouls.attempts.unsent is
  'Whoever holds the token says that nothing of its submission was sent.';
comment on column ghouls.attempts.trouble is 'Why the last question came to nothing.';
create unique index attempts_of_arm on ghouls.attempts (tenant_id, run_id, arm_id);
create index attempts_newest on ghouls.attempts (tenant_id, created_at desc, attempt_id desc);
create index attempts_due on ghouls.attempts (next_look_at, run_id)
  where status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
create index attempts_by_submitter on ghouls.attempts (submitter) where status = 'SUBMITTING';

create function ghouls.contain_attempts() returns trigger
  language plpgsql
  as $function$
declare
  acting integer;
begin
  update ghouls.attempts set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = 'the end of its run',
      next_look_at = null
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'DEFINED';
  update ghouls.attempts set next_look_at = ghouls.clock(), looks = 0,
      cancel_asked_at = coalesce(cancel_asked_at, ghouls.clock()), cancel_reason = coalesce(cancel_reason, 'ended')
    where tenant_id = new.tenant_id and run_id = new.run_id and status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
    select a.tenant_id, a.run_id, 'attempt', a.call_key, arm.seq, a.token, 'service ' || a.service, ghouls.clock(),
      ghouls.clock()
    from ghouls.attempts a
    join ghouls.arms arm on arm.tenant_id = a.tenant_id and arm.run_id = a.run_id and arm.arm_id = a.arm_id
    where a.tenant_id = new.tenant_id and a.run_id = new.run_id
      and a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
  get diagnostics acting = row_count;
  if acting > 0 then
    new.open_items := new.open_items + acting;
    if new.status in ('DONE', 'FAILED') then
      new.status := case new.status when 'DONE' then 'COMPLETING' else 'FAILING' end;
      new.finished_at := null;
    end if;
  end if;
  return new;
end
$function$;
create trigger contain_attempts before update of status on ghouls.runs
  for each row when (new.generation > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.contain_attempts();

create view ghouls.doctor_attempts as
select run.tenant_id, run.run_id, run.status, a.attempt_id, a.status as attempt_status
from ghouls.attempts a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED')
  and (run.status in ('DONE', 'FAILED', 'CANCELLED')
    or (run.status in ('COMPLETING', 'FAILING', 'CANCELLING') and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.kind = 'attempt' and i.key = a.call_key
        and i.acknowledged_at is null)))
union all
select run.tenant_id, run.run_id, run.status, a.attempt_id, a.status
from ghouls.attempts a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
join ghouls.arms arm on arm.tenant_id = a.tenant_id and arm.run_id = a.run_id and arm.arm_id = a.arm_id
where a.status in ('SUCCEEDED', 'FAILED', 'CANCELLED') and arm.closed_at is null and run.quarantined_at is null
  and run.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
union all
select i.tenant_id, i.run_id, null, null, i.key
from ghouls.containment_items i
where i.kind = 'attempt' and i.acknowledged_at is null and not exists (
  select from ghouls.attempts a
  where a.tenant_id = i.tenant_id and a.run_id = i.run_id and a.call_key = i.key
    and a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED'));

create view ghouls.doctor_contradicted_attempts as
select a.tenant_id, a.run_id, a.attempt_id, a.status, a.contradiction
from ghouls.attempts a
where a.contradiction is not null;
`};var Ma={number:10,name:"children",sql:`
alter table ghouls.arms drop constraint arms_owner_check;
alter table ghouls.arms add constraint arms_owner_check
  check (owner in ('consent', 'delegate', 'child', 'signal', 'timer'));
alter table ghouls.containment_items drop constraint containment_items_kind_check;
alter table ghouls.containment_items add constraint containment_items_kind_check
  check (kind in ('worker', 'effect', 'attempt', 'child'));

alter table ghouls.runs
  add column parent_run_id uuid,
  add column parent_arm_id uuid,
  add column parent_close text check (parent_close in ('cancel', 'wait', 'abandon')),
  add column children integer not null default 0 check (children >= 0),
  add constraint runs_parent check (num_nulls(parent_run_id, parent_arm_id, parent_close) in (0, 3));
comment on column ghouls.runs.parent_arm_id is 'The arm on which its parent waits for it.';
comment on column ghouls.runs.parent_close is 'What becomes of it when its parent ends.';
comment on column ghouls.runs.children is 'How many runs it has started.';
create unique index runs_of_arm on ghouls.runs (tenant_id, parent_run_id, parent_arm_id)
  where parent_run_id is not null;

create table ghouls.child_ends (
  tenant_id text not null,
  run_id uuid not null,
  parent_run_id uuid not null,
  ended_at timestamptz not null,
  primary key (tenant_id, run_id)
);
comment on table ghouls.child_ends is
  'Children that have ended, until their parents know. Written under the lock of the child alone, so it has no reference to either.';
create index child_ends_due on ghouls.child_ends (ended_at, run_id);

create function ghouls.tell_parent() returns trigger
  language plpgsql
  as $function$
begin
  insert into ghouls.child_ends (tenant_id, run_id, parent_run_id, ended_at)
    values (new.tenant_id, new.run_id, new.parent_run_id, new.finished_at)
    on conflict (tenant_id, run_id) do nothing;
  return null;
end
$function$;
create trigger tell_parent after update of status on ghouls.runs
  for each row when (new.parent_run_id is not null
    and new.status in ('DONE', 'FAILED', 'CANCELLED') and old.status not in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.tell_parent();

create function ghouls.contain_children() returns trigger
  language plpgsql
  as $function$
declare
  acting integer;
begin
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
    select child.tenant_id, child.parent_run_id, 'child', child.run_id::text, arm.seq, child.run_id,
      'run ' || child.run_id, ghouls.clock(), ghouls.clock()
    from ghouls.runs child
    join ghouls.arms arm on arm.tenant_id = child.tenant_id and arm.run_id = child.parent_run_id
      and arm.arm_id = child.parent_arm_id
    where child.tenant_id = new.tenant_id and child.parent_run_id = new.run_id and child.parent_close <> 'abandon'
      and child.status not in ('DONE', 'FAILED', 'CANCELLED')
    on conflict (tenant_id, run_id, kind, key) do nothing;
  get diagnostics acting = row_count;
  if acting > 0 then
    new.open_items := new.open_items + acting;
    if new.status in ('DONE', 'FAILED') then
      new.status := case new.status when 'DONE' then 'COMPLETING' else 'FAILING' end;
      new.finished_at := null;
    end if;
  end if;
  return new;
end
$function$;
create trigger contain_children before update of status on ghouls.runs
  for each row when (new.children > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.contain_children();

drop trigger close_waits on ghouls.runs;
create trigger close_waits after update of status on ghouls.runs
  for each row when ((new.generation > 0 or new.children > 0)
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.close_waits();

create view ghouls.doctor_children as
select parent.tenant_id, parent.run_id, parent.status, child.run_id as child_run_id, child.status as child_status
from ghouls.runs child
join ghouls.runs parent on parent.tenant_id = child.tenant_id and parent.run_id = child.parent_run_id
where child.parent_close <> 'abandon' and child.status not in ('DONE', 'FAILED', 'CANCELLED')
  and parent.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
  and not exists (
    select from ghouls.containment_items i
    where i.tenant_id = child.tenant_id and i.run_id = parent.run_id and i.kind = 'child' and i.key = child.run_id::text
      and i.acknowledged_at is null)
union all
select parent.tenant_id, parent.run_id, parent.status, child.run_id, child.status
from ghouls.runs child
join ghouls.runs parent on parent.tenant_id = child.tenant_id and parent.run_id = child.parent_run_id
join ghouls.arms arm on arm.tenant_id = child.tenant_id and arm.run_id = child.parent_run_id
  and arm.arm_id = child.parent_arm_id
where child.status in ('DONE', 'FAILED', 'CANCELLED') and arm.closed_at is null and parent.quarantined_at is null
  and parent.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
  and not exists (
    select from ghouls.child_ends e where e.tenant_id = child.tenant_id and e.run_id = child.run_id)
union all
select arm.tenant_id, arm.run_id, null, null, 'arm ' || arm.arm_id
from ghouls.arms arm
where arm.owner = 'child' and arm.closed_at is null and not exists (
  select from ghouls.runs child
  where child.tenant_id = arm.tenant_id and child.parent_run_id = arm.run_id and child.parent_arm_id = arm.arm_id);
`};var ja={number:11,name:"grants",sql:`
create table ghouls.grants (
  tenant_id text not null check (tenant_id <> ''),
  grant_id text not null check (grant_id <> ''),
  name text not null check (name <> ''),
  holder text not null check (holder ~ '^(user|role):.'),
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  revoked_by text,
  revocation_reason text,
  primary key (tenant_id, grant_id),
  constraint grants_grant_id_key unique (grant_id),
  constraint grants_revoked check (num_nulls(revoked_at, revoked_by, revocation_reason) in (0, 3))
);
comment on table ghouls.grants is
  'A row stays when its grant has ended, and tells who made and who revoked it. The application only reads it.';
comment on column ghouls.grants.holder is
  'Of whose runs: "user:<subject>" or "role:<name>", as the admission has recorded them.';
create index grants_live on ghouls.grants (tenant_id, name, holder) where revoked_at is null;
create index api_keys_by_subject on ghouls.api_keys (tenant_id, subject) where revoked_at is null;
`};var za={number:12,name:"reservations",sql:`
create table ghouls.capacities (
  name text primary key check (name <> ''),
  units integer not null check (units >= 1),
  updated_at timestamptz not null
);
comment on table ghouls.capacities is
  'What runs may reserve units of, as a configuration said last. Belongs to the deployment, so it has no tenant.';
comment on column ghouls.capacities.updated_at is 'When its units changed last: what was granted before may be more.';

alter table ghouls.runs
  add column reservations integer not null default 0 check (reservations >= 0),
  add column holder_key uuid
    generated always as (case when status in ('RUNNING', 'AWAITING_HARDWARE') then run_id end) stored,
  add constraint runs_holder_key unique (tenant_id, holder_key);
comment on column ghouls.runs.reservations is 'How often it has asked for units.';
comment on column ghouls.runs.holder_key is 'Its id while a worker carries it: only then it may hold units, or wait for them.';

create table ghouls.reservations (
  tenant_id text not null,
  run_id uuid not null,
  reservation_id uuid not null,
  epoch integer not null,
  scope text not null,
  name text not null,
  nth integer not null,
  capacity text not null references ghouls.capacities (name),
  units integer not null check (units >= 1),
  seq integer not null,
  token uuid not null,
  holder uuid,
  status text not null check (status in ('WAITING', 'HELD', 'LEFT', 'RELEASED')),
  asked_at timestamptz not null,
  held_at timestamptz,
  left_at timestamptz,
  released_at timestamptz,
  primary key (tenant_id, run_id, reservation_id),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  foreign key (tenant_id, holder) references ghouls.runs (tenant_id, holder_key),
  constraint reservations_holder check (
    (status in ('WAITING', 'HELD')) = (holder is not null) and (holder is null or holder = run_id)),
  constraint reservations_held check (
    (status <> 'WAITING' or held_at is null) and (status not in ('HELD', 'LEFT') or held_at is not null)),
  constraint reservations_left check ((status <> 'LEFT' or left_at is not null)),
  constraint reservations_released check ((status = 'RELEASED') = (released_at is not null))
);
comment on table ghouls.reservations is
  'Units that a claim holds, waits for, or has left: those are in use while the item of its worker is open.';
comment on column ghouls.reservations.asked_at is 'The first ask in a row of its call, over all hops: its place among those that wait.';
create unique index reservations_one_open on ghouls.reservations (tenant_id, run_id, epoch, scope, name, nth)
  where status in ('WAITING', 'HELD');
create index reservations_of_holder on ghouls.reservations (tenant_id, holder) where holder is not null;
create index reservations_in_use on ghouls.reservations (capacity, asked_at, reservation_id) where status <> 'RELEASED';

create function ghouls.leave_reservations() returns trigger
  language plpgsql
  as $function$
begin
  update ghouls.reservations
    set status = case status when 'HELD' then 'LEFT' else 'RELEASED' end, holder = null,
      left_at = case status when 'HELD' then ghouls.clock() end,
      released_at = case status when 'WAITING' then ghouls.clock() end
    where tenant_id = new.tenant_id and holder = new.run_id;
  return new;
end
$function$;
create trigger leave_reservations before update of status on ghouls.runs
  for each row when (new.reservations > 0 and old.status in ('RUNNING', 'AWAITING_HARDWARE')
    and new.status in ('QUEUED', 'COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.leave_reservations();

create view ghouls.units_in_use as
select x.capacity, x.units, x.tenant_id, x.run_id, x.scope, x.name, x.nth, x.seq, x.status, x.held_at as since,
  item.over_at
from ghouls.reservations x
left join ghouls.containment_items item on x.status = 'LEFT' and item.tenant_id = x.tenant_id and item.run_id = x.run_id
  and item.kind = 'worker' and item.key = x.seq::text and item.acknowledged_at is null
where x.status = 'HELD' or item.run_id is not null;
comment on view ghouls.units_in_use is
  'Who holds units, and whose are still in use though their claim is lost: over_at is when nothing of it can act any more.';

create view ghouls.doctor_reservations as
select u.tenant_id, u.run_id, null as status, u.capacity, 'of ' || c.units || ' units more are in use' as problem
from ghouls.units_in_use u
join ghouls.capacities c on c.name = u.capacity
where (select sum(o.units) from ghouls.units_in_use o where o.capacity = u.capacity) > c.units
  and exists (select from ghouls.units_in_use o where o.capacity = u.capacity and o.since > c.updated_at)
union all
select x.tenant_id, x.run_id, run.status, x.capacity, lower(x.status) || ' under a claim that is gone'
from ghouls.reservations x
join ghouls.runs run on run.tenant_id = x.tenant_id and run.run_id = x.run_id
join ghouls.deliveries d on d.tenant_id = x.tenant_id and d.run_id = x.run_id and d.seq = x.seq
where x.status in ('WAITING', 'HELD') and (d.status <> 'CLAIMED' or d.token is distinct from x.token)
union all
select run.tenant_id, run.run_id, run.status, null, 'its status and what it waits for disagree'
from ghouls.runs run
where run.reservations > 0 and run.status in ('RUNNING', 'AWAITING_HARDWARE')
  and (run.status = 'AWAITING_HARDWARE') <> exists (
    select from ghouls.reservations x
    where x.tenant_id = run.tenant_id and x.holder = run.run_id and x.status = 'WAITING');
`};var Ga={number:13,name:"places",sql:`
-- As engines lock them: who carries a run waits for no lock that is taken the other way round.
lock table ghouls.runs, ghouls.capacities, ghouls.reservations in access exclusive mode;

alter table ghouls.reservations
  add column inside integer not null default 0 check (inside >= 0),
  drop constraint reservations_status_check,
  add constraint reservations_status_check check (status in ('WAITING', 'AWAY', 'HELD', 'LEFT', 'RELEASED')),
  drop constraint reservations_held,
  add constraint reservations_held check (
    (status not in ('WAITING', 'AWAY') or held_at is null) and (status not in ('HELD', 'LEFT') or held_at is not null)),
  drop constraint reservations_left,
  add constraint reservations_left check (status not in ('LEFT', 'AWAY') or left_at is not null);
comment on column ghouls.reservations.inside is
  'Units of the same capacity that are held around it: it can never be had where both come to more than there is.';
comment on column ghouls.reservations.left_at is
  'When its claim was lost or given up: a place is kept for a while after it, units until nothing of the claim can act.';
comment on column ghouls.capacities.units is
  'As a deploy said last (its preflight, or the host of one machine); a process adds only what is not here.';

alter table ghouls.capacities add column said_at timestamptz;
comment on column ghouls.capacities.said_at is 'When a deploy has said how many there are; null where only a process has.';
create function ghouls.keep_capacity() returns trigger
  language plpgsql
  as $function$
begin
  new.units := old.units;
  new.updated_at := old.updated_at;
  return new;
end
$function$;
comment on function ghouls.keep_capacity() is 'A process of before that starts late does not overrule a deploy.';
create trigger keep_capacity before update on ghouls.capacities
  for each row when (old.said_at is not null and new.said_at is not distinct from old.said_at)
  execute function ghouls.keep_capacity();

create or replace function ghouls.leave_reservations() returns trigger
  language plpgsql
  as $function$
begin
  if new.status = 'QUEUED' then
    update ghouls.reservations
      set status = case status when 'HELD' then 'LEFT' else 'AWAY' end, holder = null, left_at = ghouls.clock()
      where tenant_id = new.tenant_id and holder = new.run_id;
    -- A run that goes on as new asks for nothing of before.
    if new.epoch = old.epoch then
      return new;
    end if;
  end if;
  if new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED') then
    update ghouls.reservations
      set status = case status when 'HELD' then 'LEFT' else 'RELEASED' end, holder = null,
        left_at = case status when 'HELD' then ghouls.clock() end,
        released_at = case status when 'WAITING' then ghouls.clock() end
      where tenant_id = new.tenant_id and holder = new.run_id;
  end if;
  update ghouls.reservations
    set status = 'RELEASED', released_at = ghouls.clock()
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'AWAY';
  return new;
end
$function$;
drop trigger leave_reservations on ghouls.runs;
create trigger leave_reservations before update of status on ghouls.runs
  for each row when (new.reservations > 0 and new.status <> old.status and new.status not in ('RUNNING', 'AWAITING_HARDWARE'))
  execute function ghouls.leave_reservations();

create or replace view ghouls.doctor_reservations as
select u.tenant_id, u.run_id, null as status, u.capacity, 'of ' || c.units || ' units more are in use' as problem
from ghouls.units_in_use u
join ghouls.capacities c on c.name = u.capacity
where (select sum(o.units) from ghouls.units_in_use o where o.capacity = u.capacity) > c.units
  and exists (select from ghouls.units_in_use o where o.capacity = u.capacity and o.since > c.updated_at)
union all
select x.tenant_id, x.run_id, run.status, x.capacity, lower(x.status) || ' under a claim that is gone'
from ghouls.reservations x
join ghouls.runs run on run.tenant_id = x.tenant_id and run.run_id = x.run_id
join ghouls.deliveries d on d.tenant_id = x.tenant_id and d.run_id = x.run_id and d.seq = x.seq
where x.status in ('WAITING', 'HELD') and (d.status <> 'CLAIMED' or d.token is distinct from x.token)
union all
select x.tenant_id, x.run_id, run.status, x.capacity, 'its place is kept, and it is not on its way'
from ghouls.reservations x
join ghouls.runs run on run.tenant_id = x.tenant_id and run.run_id = x.run_id
where x.status = 'AWAY' and run.status not in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE')
union all
select run.tenant_id, run.run_id, run.status, null, 'its status and what it waits for disagree'
from ghouls.runs run
where run.reservations > 0 and run.status in ('RUNNING', 'AWAITING_HARDWARE')
  and (run.status = 'AWAITING_HARDWARE') <> exists (
    select from ghouls.reservations x
    where x.tenant_id = run.tenant_id and x.holder = run.run_id and x.status = 'WAITING');
`};var Fa={number:14,name:"undo",sql:`
-- As engines lock them.
lock table ghouls.runs, ghouls.containment_items in access exclusive mode;

alter table ghouls.containment_items drop constraint containment_items_kind_check;
alter table ghouls.containment_items add constraint containment_items_kind_check
  check (kind in ('worker', 'effect', 'attempt', 'child', 'undo'));

alter table ghouls.runs
  add column undoable boolean not null default false,
  add column contain_from timestamptz;
comment on column ghouls.runs.contain_from is
  'When its containment came further, or an operator spoke about it: what was tried in vain before it does not count any more.';
comment on column ghouls.runs.undoable is 'Whether it has started a step that has an undo.';

create table ghouls.undos (
  tenant_id text not null,
  run_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  once boolean not null,
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  cleared_at timestamptz,
  primary key (tenant_id, run_id, epoch, scope, kind, name, nth),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);
comment on table ghouls.undos is 'Starts of steps that have an undo, committed before their calls.';
comment on column ghouls.undos.once is 'Whether it is an effect that happens once, whose intents tell more.';
comment on column ghouls.undos.started_at is 'Of its first try.';
comment on column ghouls.undos.cleared_at is 'When its own code had said of every try that it has not happened.';

create view ghouls.steps_to_undo as
select u.tenant_id, u.run_id, u.epoch, u.scope, u.kind, u.name, u.nth, u.seq, u.token, u.started_at,
  json_build_array(u.epoch, u.scope, u.kind, u.name, u.nth)::text as key
from ghouls.undos u
where u.cleared_at is null and (not u.once or exists (
  select from ghouls.intents i
  where i.tenant_id = u.tenant_id and i.run_id = u.run_id and i.epoch = u.epoch and i.scope = u.scope and i.kind = u.kind
    and i.name = u.name and i.nth = u.nth and (i.outcome is null or i.outcome not in ('not_done', 'cannot_happen'))));
comment on view ghouls.steps_to_undo is 'Steps with an undo that are not proven never to have happened.';

create function ghouls.contain_undos() returns trigger
  language plpgsql
  as $function$
declare
  started integer;
begin
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
    select u.tenant_id, u.run_id, 'undo', u.key, u.seq, u.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
    from ghouls.steps_to_undo u
    join ghouls.deliveries d on d.tenant_id = u.tenant_id and d.run_id = u.run_id and d.seq = u.seq
    where u.tenant_id = new.tenant_id and u.run_id = new.run_id
    on conflict (tenant_id, run_id, kind, key) do nothing;
  get diagnostics started = row_count;
  if started > 0 then
    new.open_items := new.open_items + started;
    if new.status = 'FAILED' then
      new.status := 'FAILING';
      new.finished_at := null;
    end if;
  end if;
  return new;
end
$function$;
create trigger contain_undos before update of status on ghouls.runs
  for each row when (new.undoable and new.status in ('FAILING', 'CANCELLING', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.contain_undos();

create view ghouls.doctor_undos as
select u.tenant_id, u.run_id, run.status, u.name, u.key
from ghouls.steps_to_undo u
join ghouls.runs run on run.tenant_id = u.tenant_id and run.run_id = u.run_id
where run.status in ('FAILING', 'CANCELLING', 'FAILED', 'CANCELLED') and not exists (
  select from ghouls.containment_items i
  where i.tenant_id = u.tenant_id and i.run_id = u.run_id and i.kind = 'undo' and i.key = u.key)
union all
select u.tenant_id, u.run_id, run.status, u.name, j.ordinal::text
from ghouls.undos u
join ghouls.runs run on run.tenant_id = u.tenant_id and run.run_id = u.run_id
join ghouls.journal j on j.tenant_id = u.tenant_id and j.run_id = u.run_id and j.epoch = u.epoch and j.scope = u.scope
  and j.kind = u.kind and j.name = u.name and j.nth = u.nth and j.outcome = 'ok'
where run.status in ('FAILING', 'CANCELLING', 'FAILED', 'CANCELLED') and not exists (
  select from ghouls.containment_items i
  where i.tenant_id = u.tenant_id and i.run_id = u.run_id and i.kind = 'undo'
    and i.key = json_build_array(u.epoch, u.scope, u.kind, u.name, u.nth)::text);
`};var Ua={number:15,name:"pauses",sql:`
alter table ghouls.runs
  add column paused_by text,
  add column pause_reason text,
  add constraint runs_pause check (num_nulls(paused_by, pause_reason) <> 1 and (paused_by is null or paused_at is not null));

create table ghouls.pauses (
  pause_id uuid not null,
  scope text not null,
  tenant_id text check (tenant_id <> ''),
  workflow text check (workflow <> ''),
  actor text not null check (actor <> ''),
  reason text not null,
  at timestamptz not null,
  lifted_at timestamptz,
  lifted_by text,
  lift_reason text,
  primary key (pause_id),
  constraint pauses_scope check (case scope
    when 'all' then tenant_id is null and workflow is null
    when 'tenant' then tenant_id is not null and workflow is null
    when 'workflow' then workflow is not null
    else false end),
  constraint pauses_lifted check (num_nulls(lifted_at, lifted_by, lift_reason) in (0, 3))
);
comment on table ghouls.pauses is
  'What no worker takes up, beside single runs. A row stays when it has been lifted, and tells who set and who lifted it.';
comment on column ghouls.pauses.tenant_id is 'Null: in every tenant, so it belongs to the deployment.';
comment on column ghouls.pauses.workflow is 'Null: every workflow.';
create unique index pauses_one_set on ghouls.pauses ((coalesce(tenant_id, '')), (coalesce(workflow, '')))
  where lifted_at is null;

create function ghouls.end_pause() returns trigger
  language plpgsql
  as $function$
begin
  new.paused_at := null;
  new.paused_by := null;
  new.pause_reason := null;
  return new;
end
$function$;
create trigger end_pause before update of status on ghouls.runs
  for each row when (new.paused_at is not null and old.status not in ('DONE', 'FAILED', 'CANCELLED')
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.end_pause();
`};var Wa={number:16,name:"redrives",sql:`
alter table ghouls.runs
  add column redrive_of uuid,
  add column input_stored_for uuid,
  add constraint runs_redrive check (redrive_of is null or (parent_run_id is null and first_run_id <> run_id));
comment on column ghouls.runs.redrive_of is 'The ended run whose work it takes up again.';
comment on column ghouls.runs.input_stored_for is 'The run for which its input was stored, where that was another.';
comment on column ghouls.runs.starts_at is
  'What now() of its code begins with: the start that it was given, its release from hold, its last restart, or what that of the run began with that it redrives; null: its admission.';
create unique index runs_redrive_of on ghouls.runs (tenant_id, redrive_of) where redrive_of is not null;
create index runs_of_chain on ghouls.runs (tenant_id, first_run_id) where redrive_of is not null;

alter table ghouls.journal add column stored_for uuid;
comment on column ghouls.journal.stored_for is 'The run for which its result was stored, where that was another.';

create function ghouls.own_input() returns trigger
  language plpgsql
  as $function$
begin
  new.input_stored_for := null;
  return new;
end
$function$;
create trigger own_input before update of epoch on ghouls.runs
  for each row when (new.epoch <> old.epoch and old.input_stored_for is not null)
  execute function ghouls.own_input();
`};var qt=[Ra,$a,Da,Oa,Na,Pa,qa,La,Ta,Ma,ja,za,Ga,Fa,Ua,Wa];var Eh=[ie("integrity","open deliveries agree with their run","doctor_open_deliveries"),ie("integrity","working runs have an open delivery","doctor_working_runs"),ie("integrity","terminal runs have nothing open","doctor_terminal_runs"),ie("integrity","pending deliveries have a next publication","doctor_pending_deliveries"),ie("integrity","journals are as long as their runs say","doctor_journals"),ie("integrity","runs know how many items are open","doctor_open_items"),ie("integrity","ending runs have something left to contain","doctor_endings"),ie("integrity","a parked run has one open wait with an open arm, and its checkpoint","doctor_waits"),ie("integrity","waits, arms and consents are closed with what they belong to","doctor_ended_waits"),ie("integrity","attempts end before their run, and what ends brings it back","doctor_attempts"),ie("integrity","children end before their parents, and what ends brings them back","doctor_children"),ie("integrity","a run that fails or is cancelled undoes every step of it that it can","doctor_undos"),ie("integrity","units are held by carried runs only, and no more than there are","doctor_reservations"),ie("attention","no service contradicts what it said of a job","doctor_contradicted_attempts"),ie("attention","no lost claim waits for its judgement","doctor_lost_claims"),ie("attention","no run is quarantined","doctor_quarantined_runs"),ie("attention","no open run asks for a person","doctor_runs_with_attention")];function ie(t,e,n){return{kind:t,check:e,statement:_(n.replace("_",".").replaceAll("_","-"),`select * from ghouls.${n}
limit 100`)}}i(ie,"view");var Ih=_("doctor.schema-version","select coalesce(max(number), 0) as version from ghouls.migrations");async function mi(t){let[e]=await t.run(Ih,[]);return{applied:Number(e?.version??0),known:qt.at(-1)?.number??0}}i(mi,"readSchemaVersion");async function Ba(t){let e=await mi(t),n=[{check:"the schema is up to date",kind:"integrity",ok:e.applied===e.known,rows:e.applied===e.known?[]:[e]}];for(let{check:r,kind:o,statement:s}of Eh){let a=await t.run(s,[]);n.push({check:r,kind:o,ok:a.length===0,rows:a})}return n}i(Ba,"examine");var vh=_("runs.lock",`
select run.tenant_id, run.run_id, run.status
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
order by run.run_id
for update of run`);async function P(t,e){let n=await t.run(vh,[e.map(r=>r.tenantId),e.map(r=>r.runId)]);return new Map(n.map(r=>[h(r).text("run_id"),h(r).text("status")]))}i(P,"lockRuns");var cr="(starts_with(run.attention_reason, 'containment') or starts_with(run.attention_reason, 'effect_unknown'))",Ah=y("runs.end-if-contained",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${E(G)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null)
  for update
), undo_due as (
  update ghouls.containment_items i
  set next_look_at = ghouls.clock()
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.undoable and run.status in (${E(G)})
    and i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'undo' and i.acknowledged_at is null
    and i.next_look_at > ghouls.clock() and not exists (
      select from ghouls.containment_items other
      where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind <> 'undo' and other.acknowledged_at is null)
  returning i.run_id
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status in (${E(Zo.filter(t=>t!=="CLAIMED"))})
  returning d.run_id
)
update ghouls.runs run
set status = case r.status when 'COMPLETING' then 'DONE' when 'FAILING' then 'FAILED' else 'CANCELLED' end,
  finished_at = ghouls.clock(),
  attention_reason = case when ${cr} then null else run.attention_reason end,
  attention_at = case when ${cr} then null else run.attention_at end
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  and (select count(*) from fenced) >= 0 and (select count(*) from undo_due) >= 0
returning run.status`);async function re(t,e){let[n]=await t.run(Ah,[e.tenantId,e.runId]);return n===void 0?null:h(n).text("status")}i(re,"endRunIfContained");var Sh=`r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, run.journal_length,
    run.journal_bytes, run.paused_at, run.quarantined_at, run.open_items, run.generation, run.idle_yields
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)`;function F(t){return`${Sh}, held as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.acts_until, r.enqueue_seq, r.queue, r.priority, r.journal_length, r.journal_bytes,
    r.open_items, r.generation, r.idle_yields
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where r.status in (${E(t)}) and (r.quarantined_at is null or r.status = 'CANCELLING')
    and d.status = 'CLAIMED' and d.token = $4
  for update of d
)`}i(F,"heldBy");var U=["RUNNING","AWAITING_HARDWARE"];function gn(t,e){return Ka(t,_t("run",e))}i(gn,"runMayBecome");function mr(t,e){return Ka(t,_t("delivery",e))}i(mr,"deliveryMayBecome");function Ka(t,e){return e.length===0?"false":`${t} in (${E(e)})`}i(Ka,"oneOf");var Me="json_build_array(i.epoch, i.scope, i.kind, i.name, i.nth)::text";var Ch=y("deliveries.settle",`
with ${F(U)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $6, settled_at = ghouls.clock()
  from held, r
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
    and (($5 = 'DONE' and ${gn("r.status","DONE")}) or ($5 = 'FAILED' and ${gn("r.status","FAILED")}))
  returning t.tenant_id, t.run_id, t.seq, t.claimed_by, t.settled_at
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${Me}, i.seq, i.token, settled.claimed_by, settled.settled_at, settled.settled_at
  from settled
  join ghouls.intents i on i.tenant_id = settled.tenant_id and i.run_id = settled.run_id and i.outcome is null
  returning run_id
), left_open as (
  select held.tenant_id, held.run_id, held.open_items + (select count(*) from effect_item)::integer as items
  from held
)
update ghouls.runs run
set status = case when left_open.items = 0 then $5 when $5 = 'DONE' then 'COMPLETING' else 'FAILING' end,
  finished_at = case when left_open.items = 0 then settled.settled_at end,
  open_items = left_open.items,
  output_text = $7, output_digest = $8, error_code = $9, error_text = $10, error_digest = $11
from settled
join left_open on left_open.tenant_id = settled.tenant_id and left_open.run_id = settled.run_id
where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
returning run.status`),Rh=y("deliveries.settle-contain",`
with ${F(G)}
update ghouls.deliveries t
set status = 'SETTLED', outcome = $5, settled_at = ghouls.clock()
from held
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and t.cause = 'contain'
returning t.run_id`),$h=_("deliveries.state-of-claim",`
select run.status as run_status, d.status as delivery_status, d.outcome, d.token = $4 as mine
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = $3
where run.tenant_id = $1 and run.run_id = $2`),Dh=y("runs.quarantine",`
with ${F(U)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.checkpoint_generation, t.settled_at
), queued as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, quarantine_reason = $5, quarantined_at = settled.settled_at
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select queued.tenant_id, queued.run_id, queued.enqueue_seq, 'continued', 'PENDING', queued.queue, queued.priority,
  settled.checkpoint_generation, settled.settled_at, null, settled.settled_at
from queued join settled on settled.tenant_id = queued.tenant_id and settled.run_id = queued.run_id
returning run_id`),Oh=y("runs.raise-attention",`
with r as materialized (
  select run.tenant_id, run.run_id from ghouls.runs run where run.tenant_id = $1 and run.run_id = $2 for update
)
update ghouls.runs run
set attention_reason = $3, attention_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and run.attention_at is null
  and run.status not in (${E(ye("run"))})
returning run.run_id`);async function Ha(t,e,n){let r=n.status==="DONE"?"done":"failed",o=n.status==="DONE"?[n.outputText,n.outputDigest,null,null,null]:[null,null,n.errorCode,n.errorText,n.errorDigest],s=await t.run(Ch,[...pr(e),n.status,r,...o]),[a]=s;return a!==void 0?{settled:!0,runStatus:h(a).text("status")}:fi(t,e,r)}i(Ha,"settleDeliveryIfClaimed");async function Ja(t,e,n){return t.transaction("deliveries.settle-contain",async r=>{await P(r,[e]);let s=(await r.run(Rh,[...pr(e),n])).length===1||(await fi(r,e,n)).settled;return{settled:s,ended:s?await re(r,e):null}})}i(Ja,"settleContainIfClaimed");async function Va(t,e,n){return(await t.run(Dh,[...pr(e),n])).length===1?!0:(await fi(t,e,"given_back")).settled}i(Va,"quarantineRunIfClaimed");async function fr(t,e,n){return(await t.run(Oh,[e.tenantId,e.runId,n])).length===1}i(fr,"raiseAttention");async function fi(t,e,n){let[r]=await t.run($h,pr(e));if(r===void 0)return{settled:!1,deliveryStatus:null,runStatus:null};let o=h(r),s=o.text("run_status");return r.mine===!0&&o.textOrNull("outcome")===n?{settled:!0,runStatus:s}:{settled:!1,deliveryStatus:o.text("delivery_status"),runStatus:s}}i(fi,"readClaim");function pr(t){return[t.tenantId,t.runId,t.seq,t.token]}i(pr,"keyOf");var Ph={micros:"0",runId:"00000000-0000-0000-0000-000000000000"},te=i(t=>`(extract(epoch from ${t}) * 1000000)::bigint as micros`,"microsOf"),se=i((t,e,n)=>`(${t}, ${e}) > (timestamptz 'epoch' + $${n}::bigint * interval '1 microsecond', $${n+1}::uuid)`,"behind");function ce(t){let{micros:e,runId:n}=t??Ph;return[e,n]}i(ce,"positionOf");function me(t,e,n){let r=t.length<e?void 0:t.at(-1);return{found:t.map(n),next:r&&{micros:h(r).text("micros"),runId:h(r).text("run_id")}}}i(me,"pageOf");var hr=i((t,e,n)=>`($${n}::bigint is null
    or (${t}, ${e}) < (timestamptz 'epoch' + $${n} * interval '1 microsecond', $${n+1}::uuid))`,"olderThan");function gr(t,e,n,r){let o=t.slice(0,e),s=t.length>e?o.at(-1):void 0;return{shown:o.map(r),next:s&&{micros:h(s).text("micros"),id:h(s).text(n)}}}i(gr,"newestOf");function yr(t,{runId:e,status:n},{limit:r,after:o}){return[t,r+1,e??null,n??null,o?.micros??null,o?.id??null]}i(yr,"newestValues");var je=["AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER"],qh=rt.map(t=>`when '${t}' then '${ri(t)}'`).join(" "),Lh=y("consents.expire",`
with expired as materialized (
  select c.tenant_id, c.run_id, c.consent_id
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.status = 'PENDING' and c.expires_at <= ghouls.clock()
  order by c.consent_id
  for update
)
update ghouls.consents c
set status = case c.on_expiry ${qh} end, closed_at = ghouls.clock(), closed_by = 'expiry'
from expired
where c.tenant_id = expired.tenant_id and c.run_id = expired.run_id and c.consent_id = expired.consent_id
returning c.consent_id`),Th=_("arms.facts",`
select a.arm_id, a.owner, a.kind, coalesce(a.due_at <= ghouls.clock(), false) as due, c.consent_id, c.status, c.closed_by,
  (select json_agg(json_build_object('by', s.subject, 'verdict', s.verdict, 'at', floor(extract(epoch from s.decided_at) * 1000), 'comment', s.comment_text) order by s.decided_at, s.subject)
    from ghouls.consent_decisions s
    where s.tenant_id = c.tenant_id and s.run_id = c.run_id and s.consent_id = c.consent_id)::text as decisions,
  (select json_agg(json_build_object('signalId', s.signal_id, 'from', s.sent_by, 'at', floor(extract(epoch from s.received_at) * 1000), 'payload', s.payload_text) order by s.received_at, s.signal_id)
    from (
      select b.* from ghouls.signals b
      where b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name and b.consumed_at is null
      order by b.received_at, b.signal_id
      limit 10
    ) s
    where a.owner = 'signal')::text as signals,
  t.attempt_id, t.status as attempt_status, t.report_text, t.report_digest,
  coalesce(t.cancel_reason = 'deadline', false) as attempt_overdue, child.run_id as child_run_id, child.status as child_status,
  case child.status when 'DONE' then child.output_text when 'FAILED' then child.error_text end as child_text,
  case child.status when 'DONE' then child.output_digest when 'FAILED' then child.error_digest end as child_digest
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
left join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
left join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by coalesce(c.closed_at, t.closed_at, child.finished_at, (
    select min(b.received_at) from ghouls.signals b
    where a.owner = 'signal' and b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name
      and b.consumed_at is null), a.due_at, a.created_at), a.created_at, a.arm_id`),Mh=y("arms.close",`
with r as materialized (
  select run.tenant_id, run.run_id, run.journal_length
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), closed as (
  update ghouls.arms a
  set closed_at = ghouls.clock(), closing = 'fact'
  from r
  where a.tenant_id = r.tenant_id and a.run_id = r.run_id and a.arm_id = $4 and a.closed_at is null
  returning a.tenant_id, a.run_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.created_at
), consumed as (
  update ghouls.signals s
  set consumed_at = ghouls.clock(), consumed_by = $4
  from closed
  where s.tenant_id = closed.tenant_id and s.run_id = closed.run_id and s.signal_id = $5::uuid and s.consumed_at is null
  returning s.run_id
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at)
  select closed.tenant_id, closed.run_id, r.journal_length + 1, closed.epoch, closed.scope, closed.kind, closed.name, closed.nth,
    'ok', $6, $7, 1, d.seq, d.token, date_trunc('milliseconds', closed.created_at), date_trunc('milliseconds', ghouls.clock())
  from closed
  join r on r.tenant_id = closed.tenant_id and r.run_id = closed.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where closed.kind <> 'step'
  returning tenant_id, run_id, ordinal
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $8::bigint
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id, run.journal_bytes
)
select closed.kind, (select count(*) from entry)::integer as entries, (select count(*) from consumed)::integer as consumed,
  coalesce((select counted.journal_bytes from counted), 0) as journal_bytes
from closed`),jh=y("runs.resume",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.generation, run.quarantined_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), wait as (
  update ghouls.waits w
  set closed_at = ghouls.clock(), closed_by = $3::uuid
  from r
  where w.tenant_id = r.tenant_id and w.run_id = r.run_id and w.generation = r.generation and w.closed_at is null
    and r.status in (${E(je)}) and r.quarantined_at is null
  returning w.tenant_id, w.run_id, w.generation, w.seq, w.closed_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1
  from wait
  where run.tenant_id = wait.tenant_id and run.run_id = wait.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, wait.generation, wait.seq as parked_seq,
    wait.closed_at
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
    moved.generation, moved.closed_at, moved.closed_at + $4::double precision * interval '1 second', moved.closed_at
  from moved
  returning run_id
)
select moved.enqueue_seq, moved.queue, moved.parked_seq from moved join next on next.run_id = moved.run_id`),zh=_("arms.run-of-arm",`
select a.tenant_id, a.run_id, a.closed_at is null as open,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in
from ghouls.arms a
where a.arm_id = $1`),Gh=_("arms.due",`
select a.tenant_id, a.run_id, a.arm_id, extract(epoch from ghouls.clock() - a.due_at)::double precision as late,
  ${te("a.due_at")}
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null and a.due_at <= ghouls.clock() and run.status in (${E(je)})
  and run.quarantined_at is null and ${se("a.due_at","a.run_id",2)}
order by a.due_at, a.run_id
limit $1`);async function pi(t,e){await t.run(Lh,[e.tenantId,e.runId]);let n=await t.run(Th,[e.tenantId,e.runId]);return oi(n.map(Fh))}i(pi,"readClosings");async function hi(t,e,n,r){for(let{armId:o,resultText:s,signalId:a}of r){let[d]=await t.run(Mh,[e.tenantId,e.runId,n,o,a??null,s,s===null?null:L(s),s===null?0:Buffer.byteLength(s)]);if(d!==void 0&&h(d).number("journal_bytes")>Ye)return}}i(hi,"closeArms");async function Oe(t,e,n){let r=await pi(t,e),[o]=r;if(o===void 0)return null;let[s]=await t.run(jh,[e.tenantId,e.runId,o.armId,n]);if(s===void 0)return null;let a=h(s);await hi(t,e,a.number("parked_seq"),r);let{tenantId:d,runId:u}=e;return{tenantId:d,runId:u,enqueueSeq:a.number("enqueue_seq"),queue:a.text("queue")}}i(Oe,"resumeIfClosed");async function gi(t,e,n){return t.transaction("runs.resume",async r=>(await P(r,[e])).size===0?null:Oe(r,e,n))}i(gi,"resumeRun");async function Qa(t,e){let[n]=await t.run(zh,[e]);if(n===void 0)return null;let r=h(n);return{tenantId:r.text("tenant_id"),runId:r.text("run_id"),open:r.boolean("open"),dueInSeconds:r.numberOrNull("due_in")}}i(Qa,"readRunOfArm");async function Xa(t,e,n){let r=await t.run(Gh,[e,...ce(n)]);return me(r,e,o=>{let s=h(o);return{tenantId:s.text("tenant_id"),runId:s.text("run_id"),armId:s.text("arm_id"),lateSeconds:s.number("late")}})}i(Xa,"readDueArms");function Ya(t){return JSON.parse(t).map(n=>({...n,at:new Date(n.at).toISOString()}))}i(Ya,"dated");function Fh(t){let e=h(t),n=e.textOrNull("consent_id"),r=e.textOrNull("attempt_id"),o=e.textOrNull("signals"),s=e.textOrNull("child_run_id");return{armId:e.text("arm_id"),owner:e.text("owner"),due:e.boolean("due"),retry:e.text("kind")==="step",...n===null?{}:{consent:{consentId:n,status:e.text("status"),closedBy:e.textOrNull("closed_by"),decisions:Ya(e.textOrNull("decisions")??"[]")}},...r===null?{}:{attempt:{attemptId:r,status:e.text("attempt_status"),overdue:e.boolean("attempt_overdue"),report:e.textOrNull("report_text"),digest:e.textOrNull("report_digest")}},...s===null?{}:{child:{runId:s,status:e.text("child_status"),text:e.textOrNull("child_text"),digest:e.textOrNull("child_digest")}},...o===null?{}:{signals:Ya(o)}}}i(Fh,"factOf");var ae=ye("attempt"),_r=["SUBMITTED","RUNNING"],Za=`t.tenant_id, t.run_id, t.attempt_id, t.status, t.service, t.adapter, t.adapter_version, t.service_digest,
  t.request_digest, t.idempotency_key, t.submissions, t.uncertain_reason, t.contradiction, t.cancel_reason, t.trouble, t.trouble_at, t.created_at,
  t.acknowledged_at, t.heartbeat_at, t.deadline_at, t.next_look_at, t.closed_at, t.closed_by, a.name, run.workflow_name`,yn=`${Za}, t.lookup, t.submit, t.cancel, t.delay_seconds, t.poll_seconds, t.heartbeat_seconds,
  t.stored_digest, t.token, t.looks, t.misses, t.unsent, t.report_digest, t.callback_digest,
  t.cancel_asked_at is not null as cancel_asked, t.callback_used_at is not null as callback_used,
  coalesce(t.callback_expires_at <= ghouls.clock(), false) as callback_expired,
  run.status as run_status, run.attention_at is not null as attended, a.closed_at is null as arm_open,
  a.closed_at is null and a.generation = run.generation and run.quarantined_at is null
    and run.status in (${E(je)}) as parked,
  coalesce(t.sends_until + t.delay_seconds * interval '1 second' < ghouls.clock(), false) as late,
  coalesce(t.deadline_at <= ghouls.clock(), false) as overdue,
  coalesce(t.status in (${E(_r)})
    and t.heartbeat_at + t.heartbeat_seconds * interval '1 second' <= ghouls.clock(), false) as heart_lapsed`,yi="t.request_text, t.report_text",ed="null as request_text, null as report_text",Lt=`from ghouls.attempts t
join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
join ghouls.runs run on run.tenant_id = t.tenant_id and run.run_id = t.run_id`,Wh=_("attempts.read",`
select ${yn}, ${yi}
${Lt}
where t.tenant_id = $1 and t.attempt_id = $2`),Bh=_("attempts.read-for-callback",`
select ${yn}, ${yi}
${Lt}
where t.attempt_id = $1`),Kh=_("attempts.lock",`
select ${yn}, ${yi}
${Lt}
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
for update of t`),Hh=_("attempts.due",`
select ${yn}, ${ed}, ${te("t.next_look_at")}
${Lt}
where t.status not in (${E(ae)}) and t.next_look_at <= ghouls.clock()
  and ${se("t.next_look_at","t.run_id",2)}
order by t.next_look_at, t.run_id
limit $1`),Jh=_("attempts.defined-of-run",`
select ${yn}, ${ed}
${Lt}
where t.tenant_id = $1 and t.run_id = $2 and t.status = 'DEFINED'
order by t.created_at, t.attempt_id`),Vh=_("attempts.page",`
select ${Za}, ${te("t.created_at")}
${Lt}
where t.tenant_id = $1 and ($3::uuid is null or t.run_id = $3) and ($4::text is null or t.status = $4)
  and ${hr("t.created_at","t.attempt_id",5)}
order by t.created_at desc, t.attempt_id desc
limit $2`);async function td(t,e){let[n]=await t.run(Wh,[e.tenantId,e.attemptId]);return n===void 0?null:_n(n)}i(td,"readAttempt");async function nd(t,e){let[n]=await t.run(Bh,[e]);return n===void 0?null:_n(n)}i(nd,"readAttemptForCallback");async function _i(t,e){let[n]=await t.run(Kh,[e.tenantId,e.runId,e.attemptId]);return n===void 0?null:_n(n)}i(_i,"lockAttempt");async function rd(t,e,n){let r=await t.run(Hh,[e,...ce(n)]);return me(r,e,_n)}i(rd,"readDueAttempts");async function od(t,e){return(await t.run(Jh,[e.tenantId,e.runId])).map(_n)}i(od,"readDefinedAttempts");async function id(t,e,n,r){let o=await t.run(Vh,yr(e,n,r)),{shown:s,next:a}=gr(o,r.limit,"attempt_id",sd);return{attempts:s,next:a}}i(id,"readAttemptPage");function sd(t){let e=h(t),n=e.dateOrNull("trouble_at");return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),attemptId:e.text("attempt_id"),status:e.text("status"),name:e.text("name"),workflow:e.text("workflow_name"),service:e.text("service"),adapter:e.text("adapter"),adapterVersion:e.text("adapter_version"),serviceDigest:e.text("service_digest"),requestDigest:e.text("request_digest"),idempotencyKey:e.text("idempotency_key"),submissions:e.number("submissions"),uncertainReason:e.textOrNull("uncertain_reason"),contradiction:e.textOrNull("contradiction"),cancelReason:e.textOrNull("cancel_reason"),trouble:n===null?null:{why:e.text("trouble"),at:n},createdAt:e.date("created_at"),acknowledgedAt:e.dateOrNull("acknowledged_at"),heartbeatAt:e.dateOrNull("heartbeat_at"),deadlineAt:e.dateOrNull("deadline_at"),nextLookAt:e.dateOrNull("next_look_at"),closedAt:e.dateOrNull("closed_at"),closedBy:e.textOrNull("closed_by")}}i(sd,"listedOf");function _n(t){let e=h(t);return{...sd(t),traits:{lookup:e.text("lookup"),submit:e.text("submit"),cancel:e.text("cancel"),delaySeconds:e.number("delay_seconds")},pollSeconds:e.numberOrNull("poll_seconds"),heartbeatSeconds:e.numberOrNull("heartbeat_seconds"),requestText:e.textOrNull("request_text")??"",storedDigest:e.text("stored_digest"),token:e.textOrNull("token"),looks:e.number("looks"),misses:e.number("misses"),unsent:e.boolean("unsent"),reportText:e.textOrNull("report_text"),reportDigest:e.textOrNull("report_digest"),callbackDigest:e.textOrNull("callback_digest"),callbackExpired:e.boolean("callback_expired"),callbackUsed:e.boolean("callback_used"),cancelAsked:e.boolean("cancel_asked"),runStatus:e.text("run_status"),attended:e.boolean("attended"),parked:e.boolean("parked"),armOpen:e.boolean("arm_open"),late:e.boolean("late"),overdue:e.boolean("overdue"),heartLapsed:e.boolean("heart_lapsed")}}i(_n,"attemptOf");var wi="attempt_uncertain:",ad="attempt_contradicted:",Qh=y("attempts.calm",`
with asks as materialized (
  (select format($4::text, a.name, t.service, coalesce(t.uncertain_reason, t.trouble)) as reason, 1 as rank
  from ghouls.attempts t
  join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
  where t.tenant_id = $1 and t.run_id = $2
    and (t.status = 'UNCERTAIN' or t.status not in (${E(ae)}) and t.misses >= $6)
  order by t.created_at, t.attempt_id
  limit 1)
  union all
  (select format($5::text, a.name, t.service, t.contradiction), 2
  from ghouls.attempts t
  join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
  where t.tenant_id = $1 and t.run_id = $2 and t.contradiction is not null
  order by t.created_at, t.attempt_id
  limit 1)
), reason as (
  select (select left(asks.reason, 1000) from asks order by asks.rank limit 1) as reason
)
update ghouls.runs run
set attention_reason = reason.reason,
  attention_at = case when reason.reason is not null then coalesce(run.attention_at, ghouls.clock()) end
from reason
where run.tenant_id = $1 and run.run_id = $2 and starts_with(run.attention_reason, $3)
returning run.run_id`);async function dd(t,e,n){await fr(t,e,`${wi} ${n}`.slice(0,1e3))}i(dd,"askAboutJob");async function Tt(t,{tenantId:e,runId:n}){await t.run(Qh,[e,n,wi,`${wi} nobody knows of the job "%s" at %s: %s`,`${ad} of the job "%s" at %s: %s`,3])}i(Tt,"calmIfKnown");function ud(t){return`${ad} ${t}`}i(ud,"contradicted");var Xh=y("audit.record",`
insert into ghouls.audit (tenant_id, run_id, audit_id, actor, act, subject, reason, at)
select run.tenant_id, run.run_id, gen_random_uuid(), $3, $4, $5, $6, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`);async function we(t,e,n){await t.run(Xh,[e.tenantId,e.runId,n.actor,n.act,n.subject,n.reason])}i(we,"recordAudit");var Zh=y("deliveries.yield",`
with ${F(U)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $10, settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1,
    idle_yields = case when $8::boolean then run.idle_yields + 1 else 0 end
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, greatest(moved.settled_at, $11::timestamptz),
  case when $11::timestamptz is null then moved.settled_at + $9::double precision * interval '1 second'
    else greatest(moved.settled_at, $11::timestamptz) end,
  moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),eg=y("deliveries.give-back",`
with ${F(U)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.checkpoint_generation, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1,
    workflow_absent_since = case when $6::boolean then coalesce(run.workflow_absent_since, settled.settled_at)
      else run.workflow_absent_since end
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, settled.checkpoint_generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  moved.checkpoint_generation, greatest(ghouls.clock(), $5::timestamptz), greatest(ghouls.clock(), $5::timestamptz),
  ghouls.clock()
from moved
returning seq, queue`),tg=y("deliveries.due-now",`
with waiting as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  join ghouls.deliveries before on before.tenant_id = d.tenant_id and before.run_id = d.run_id and before.seq = d.seq - 1
  where d.tenant_id = $1 and d.run_id = $2 and d.status = 'PENDING' and before.outcome = 'given_back'
    and d.due_at > ghouls.clock()
  for update of d
)
update ghouls.deliveries d
set due_at = ghouls.clock(), next_publication_at = ghouls.clock()
from waiting
where d.tenant_id = waiting.tenant_id and d.run_id = waiting.run_id and d.seq = waiting.seq
returning d.seq`),ng=y("runs.clear-absence",`
with ${F(U)}
update ghouls.runs run
set workflow_absent_since = null
from held
where run.tenant_id = held.tenant_id and run.run_id = held.run_id
returning run.run_id`),rg=y("runs.adopt",`
with ${F(U)}, moved as (
  update ghouls.runs run
  set workflow_version = $6, workflow_digest = $7, workflow_absent_since = null,
    generation = run.generation + case when $8::boolean then 1 else 0 end
  from held
  where run.tenant_id = held.tenant_id and run.run_id = held.run_id and held.journal_length = $9
    and run.workflow_digest = any($5::text[])
  returning run.tenant_id, run.run_id, run.generation, held.seq
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $7, $9, $10, ghouls.clock()
  from moved
  where $8::boolean
  returning tenant_id, run_id, seq, generation
), carried as (
  update ghouls.deliveries d
  set checkpoint_generation = checkpoint.generation
  from checkpoint
  where d.tenant_id = checkpoint.tenant_id and d.run_id = checkpoint.run_id and d.seq = checkpoint.seq
  returning d.seq
)
select moved.run_id, carried.seq from moved left join carried on true`),og=_("deliveries.handed-over",`
select next.seq, next.queue
from ghouls.deliveries d
join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED' and d.outcome = $5`),ig=_("checkpoints.read",`
select c.generation, c.workflow_digest, c.journal_length, c.journal_digest
from ghouls.checkpoints c
where c.tenant_id = $1 and c.run_id = $2 and c.generation = $3`);async function wr(t,e,n,{idle:r,publisherGraceSeconds:o,dueAt:s}){let{workflowDigest:a,journalLength:d,journalDigest:u}=n,l=s===void 0?"continued":"given_back",[c]=await t.run(Zh,[...wn(e),a,d,u,r,o,l,s??null]);return c===void 0?kr(t,e,l):ot(c)}i(wr,"yieldDeliveryIfClaimed");async function ld(t,e,n,r=!1){let[o]=await t.run(eg,[...wn(e),n,r]);return o===void 0?kr(t,e,"given_back"):ot(o)}i(ld,"giveDeliveryBackIfClaimed");async function cd(t,e){return(await t.run(ng,wn(e))).length===1}i(cd,"clearAbsenceIfClaimed");async function md(t,e,n,{journalLength:r,journalDigest:o}){return(await t.run(rg,[...wn(e),[e.workflow.digest,n.digest],n.version,n.digest,e.checkpointGeneration!==null,r,o])).length===1}i(md,"adoptIfClaimed");async function fd(t,e,n){let[r]=await t.run(ig,[e.tenantId,e.runId,n]);if(r===void 0)return null;let o=h(r);return{workflowDigest:o.text("workflow_digest"),journalLength:o.number("journal_length"),journalDigest:o.text("journal_digest")}}i(fd,"readCheckpoint");async function kr(t,e,n){let[r]=await t.run(og,[...wn(e),n]);return r===void 0?null:ot(r)}i(kr,"handedOver");function ot(t){return{enqueueSeq:h(t).number("seq"),queue:h(t).text("queue")}}i(ot,"nextOf");function wn(t){return[t.tenantId,t.runId,t.seq,t.token]}i(wn,"keyOf");async function br(t,e){await t.run(tg,[e.tenantId,e.runId])}i(br,"makeGivenBackDue");var ag=y("items.acknowledge",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = $3 and i.key = $4 and i.acknowledged_at is null
    and ($7::uuid is null or i.token = $7)
    and not exists (
      select from ghouls.attempts t
      where i.kind = 'attempt' and t.tenant_id = i.tenant_id and t.run_id = i.run_id and t.call_key = i.key
        and t.status not in (${E(ae)}) and t.sends_until > ghouls.clock())
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $5, acknowledgement = $6
  from item
  where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
  returning i.tenant_id, i.run_id, i.kind, i.key
), known as (
  update ghouls.intents i
  set outcome = coalesce($8, 'resolved'), outcome_at = ghouls.clock()
  from acknowledged a
  where a.kind = 'effect' and i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.outcome is null and ${Me} = a.key
  returning i.run_id
), job as (
  update ghouls.attempts t
  set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = $5, next_look_at = null, uncertain_reason = null
  from acknowledged a
  where a.kind = 'attempt' and t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.call_key = a.key
    and t.status not in (${E(ae)})
  returning t.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1, contain_from = case when $5 in ('operator', 'probe', 'undo') then ghouls.clock() else run.contain_from end
from acknowledged a
where run.tenant_id = a.tenant_id and run.run_id = a.run_id and (select count(*) from known) >= 0
  and (select count(*) from job) >= 0
returning run.open_items`),dg=_("deliveries.holds",`
select d.seq
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'`),ug=y("deliveries.over-now",`
update ghouls.deliveries d
set acts_until = least(d.acts_until, ghouls.clock())
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'
returning d.seq`);async function ki(t,e,n,r){return t.transaction("items.acknowledge",async o=>{await P(o,[e]);let{kind:s,key:a,by:d,words:u,token:l,under:c,effect:m}=n;if(c!==void 0&&(await o.run(dg,[c.tenantId,c.runId,c.seq,c.token])).length===0)return null;let[f]=await o.run(ag,[e.tenantId,e.runId,s,a,d,u,l??null,m??null]);if(f===void 0)return null;if(s==="worker"&&await br(o,e),s==="attempt"&&await Tt(o,e),r!==void 0){let p=`${s} ${a}`;await we(o,e,{...r,act:"resolve",subject:p})}return{openItems:h(f).number("open_items"),ended:await re(o,e)}})}i(ki,"acknowledgeItem");async function pd(t,e){let n=await ki(t,e,{kind:"worker",key:String(e.seq),by:"worker",words:"its worker ended the hop: no step is in flight",token:e.token});return n!==null?n:(await t.run(ug,[e.tenantId,e.runId,e.seq,e.token]),null)}i(pd,"acknowledgeWorker");var yd=`(case when $11::double precision is null then t.sends_until
    else least(t.sends_until, ghouls.clock() + $11 * interval '1 second') end)`,hd=`${yd} + (t.delay_seconds + 1) * interval '1 second'`,cg=y("attempts.change",`
update ghouls.attempts t
set status = $4,
  report_text = $5, report_digest = $6, uncertain_reason = $7,
  acknowledged_at = case when $8::boolean then coalesce(t.acknowledged_at, ghouls.clock()) else t.acknowledged_at end,
  heartbeat_at = case when $8::boolean then ghouls.clock() else t.heartbeat_at end,
  looks = case when $16::boolean then t.looks when t.status = $4 then t.looks + 1 else 0 end,
  misses = case when $16::boolean then t.misses when $10::boolean then t.misses + 1 else 0 end,
  trouble = case when $10::boolean then coalesce($14, t.trouble) else t.trouble end,
  trouble_at = case when $10::boolean and coalesce($14, t.trouble) is not null then ghouls.clock() else t.trouble_at end,
  unsent = $15::boolean,
  sends_until = ${yd},
  callback_used_at = case when $12::boolean then ghouls.clock() else t.callback_used_at end,
  closed_at = case when $4 in (${E(ae)}) then ghouls.clock() end,
  closed_by = case when $4 in (${E(ae)}) then $13 end,
  next_look_at = case when $16::boolean then t.next_look_at when $4 not in (${E(ae)}) then least(
    ghouls.clock() + $9::double precision * interval '1 second',
    case when $4 in (${E(_r)}) then
      case when $8::boolean then ghouls.clock() else t.heartbeat_at end + t.heartbeat_seconds * interval '1 second' end,
    case when t.deadline_at > ghouls.clock() then t.deadline_at end,
    case when ($4 not in (${E(_r)}) or t.cancel_asked_at is not null) and not $15::boolean
      and ${hd} > ghouls.clock() then ${hd} end) end
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
returning t.status`),_d=y("attempts.cancel",`
update ghouls.attempts t
set cancel_asked_at = coalesce(t.cancel_asked_at, ghouls.clock()), cancel_reason = coalesce(t.cancel_reason, $4)
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
returning t.status`),mg=y("attempts.close-item",`
with acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $4, acknowledgement = $5
  from ghouls.attempts t
  where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
    and i.tenant_id = t.tenant_id and i.run_id = t.run_id and i.kind = 'attempt' and i.key = t.call_key
    and i.acknowledged_at is null
  returning i.tenant_id, i.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1
from acknowledged
where run.tenant_id = acknowledged.tenant_id and run.run_id = acknowledged.run_id
returning run.open_items`),fg=y("attempts.contradict",`
with kept as (
  update ghouls.attempts t
  set contradiction = $4
  where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3 and t.contradiction is null
  returning t.tenant_id, t.run_id
)
update ghouls.runs run
set attention_reason = $5, attention_at = ghouls.clock()
from kept
where run.tenant_id = kept.tenant_id and run.run_id = kept.run_id and run.attention_at is null
returning run.run_id`);async function wd(t,e,n,r,o){return t.transaction("attempts.change",async s=>{await P(s,[e]);let a=await _i(s,e);if(a===null)return null;let d=n(a);if(d===void 0)return null;if(await pg(s,a,d),o!==void 0){let f=`attempt ${e.attemptId}`;await we(s,e,{...o,act:"resolve",subject:f})}let{status:u}=d;if(!ae.includes(u))return{status:u,resumption:null,ended:null};let l=`its job is ${u}`;await s.run(mg,[...kn(e),d.by,l]);let c=await re(s,e),m=c===null?await Oe(s,e,r.publisherGraceSeconds):null;return{status:u,resumption:m,ended:c}})}i(wd,"changeAttempt");async function pg(t,e,n){let{status:r,report:o,by:s,acknowledged:a,missed:d,sentFor:u,usesCallback:l}=n,c=n.why===void 0?void 0:gd(n.why),{overdue:m,armOpen:f,cancelAsked:p}=e;r==="CANCELLED"&&!p&&(m||!f)&&await t.run(_d,[...kn(e),m&&f?"deadline":"ended"]),await t.run(cg,[...kn(e),r,o?.reportText??null,o?.reportDigest??null,r==="UNCERTAIN"?e.uncertainReason??c??"unknown":null,a,n.nextLookSeconds,d,u??null,l??!1,s,c??null,n.unsent??(e.unsent&&r===e.status&&!a),n.onlyAlive??!1]);let w=r==="UNCERTAIN"&&e.status!=="UNCERTAIN"?c??"unknown":n.attention;if(w!==void 0){let I=`nobody knows of the job "${e.name}" at ${e.service}: ${gd(w)}`;await dd(t,e,I)}r!=="UNCERTAIN"&&(a||r!==e.status)&&e.attended&&await Tt(t,e)}i(pg,"write");async function kd(t,e,n){return t.transaction("attempts.cancel",async r=>{await P(r,[e]);let o=await _i(r,e);return o===null||o.status!==e.status||o.token!==e.token?!1:(await r.run(_d,[...kn(e),n])).length===1})}i(kd,"askToCancel");async function bd(t,e,n){await t.transaction("attempts.contradict",async r=>{await P(r,[e]);let o=ud(`of the job "${e.name}" at ${e.service}: ${n}`);await r.run(fg,[...kn(e),n.slice(0,1e3),o.slice(0,1e3)])})}i(bd,"keepContradiction");var hg=1e3;function gd(t){return t.slice(0,hg).replaceAll("\0","\uFFFD").toWellFormed()}i(gd,"kept");function kn({tenantId:t,runId:e,attemptId:n}){return[t,e,n]}i(kn,"keyOf");var yg=["DEFINED","SUBMITTING","UNCERTAIN"],_g=y("attempts.claim-submission",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.generation, run.quarantined_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), held as materialized (
  select t.tenant_id, t.run_id, t.attempt_id, t.arm_id, t.status, t.token, t.deadline_at, t.cancel_asked_at, t.acknowledged_at,
    r.status as run_status, r.generation, r.quarantined_at
  from r
  join ghouls.attempts t on t.tenant_id = r.tenant_id and t.run_id = r.run_id and t.attempt_id = $3
  for update of t
)
update ghouls.attempts t
set status = 'SUBMITTING', token = $6, submitter = $7, submissions = t.submissions + case when t.unsent then 0 else 1 end,
  sends_until = ghouls.clock() + $8::double precision * interval '1 second',
  callback_digest = $9, callback_used_at = null,
  callback_expires_at = case when $9::text is not null then t.deadline_at + $10::double precision * interval '1 second' end,
  next_look_at = ghouls.clock() + $11::double precision * interval '1 second', looks = case when t.unsent then t.looks else 0 end,
  misses = case when t.unsent then t.misses else 0 end, unsent = false, uncertain_reason = null
from held
join ghouls.arms a on a.tenant_id = held.tenant_id and a.run_id = held.run_id and a.arm_id = held.arm_id
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.attempt_id = held.attempt_id
  and held.status = $4 and held.token is not distinct from $5::uuid
  and held.status in (${E(yg)})
  and held.acknowledged_at is null and held.cancel_asked_at is null
  and (held.deadline_at is null or held.deadline_at > ghouls.clock())
  and held.run_status in (${E(je)}) and held.quarantined_at is null
  and a.closed_at is null and a.generation = held.generation
returning t.attempt_id`),wg=y("attempts.submitter-ended",`
with left_behind as materialized (
  select t.tenant_id, t.run_id, t.attempt_id
  from ghouls.attempts t
  where t.submitter = $1 and t.status = 'SUBMITTING'
  order by t.tenant_id, t.run_id, t.attempt_id
  for update skip locked
)
update ghouls.attempts t
set sends_until = least(t.sends_until, ghouls.clock() + $2::double precision * interval '1 second'),
  next_look_at = least(t.next_look_at, ghouls.clock())
from left_behind
where t.tenant_id = left_behind.tenant_id and t.run_id = left_behind.run_id and t.attempt_id = left_behind.attempt_id
returning t.attempt_id`);async function xd(t,e,n){return t.transaction("attempts.claim-submission",async r=>(await P(r,[e]),(await r.run(_g,[e.tenantId,e.runId,e.attemptId,e.status,e.token,n.token,n.submitter,n.sendsForSeconds,n.callbackDigest,n.callbackSeconds,n.nextLookSeconds])).length===0?!1:(await Tt(r,e),!0)))}i(xd,"claimSubmission");async function Ed(t,e,n){await t.run(wg,[e,n])}i(Ed,"recordSubmitterEnd");var Mt={tenant:"coalesce(p.tenant_id, '')",workflow:"coalesce(p.workflow, '')"},Id=i(t=>`exists (
        select from ghouls.pauses p
        where p.lifted_at is null and ${Mt.tenant} = any(array[${t}.tenant_id, ''])
          and ${Mt.workflow} = any(array[${t}.workflow_name, '']))`,"isHeld"),it=i(t=>`(${t}.paused_at is not null or ${Id(t)})`,"isPaused"),jt=i(t=>`${t}.paused_at is null and not ${Id(t)}`,"notPaused");var bg=y("deliveries.beat",`
with held as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[]) as q(tenant_id, run_id, seq, token)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq and d.token = q.token
  where d.status = 'CLAIMED'
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set lease_until = greatest(d.lease_until, ghouls.clock() + $5::double precision * interval '1 second')
from held
where d.tenant_id = held.tenant_id and d.run_id = held.run_id and d.seq = held.seq
returning d.run_id, d.seq, d.cause <> 'contain' and exists (
    select from ghouls.runs run
    where run.tenant_id = d.tenant_id and run.run_id = d.run_id and ${it("run")}) as paused`),xg=y("deliveries.beat-of-worker",`
with held as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set lease_until = greatest(d.lease_until, ghouls.clock() + $2::double precision * interval '1 second')
from held
where d.tenant_id = held.tenant_id and d.run_id = held.run_id and d.seq = held.seq
returning d.run_id`);async function vd(t,e,n){return(await t.run(xg,[e,n])).length}i(vd,"beatOfWorker");async function Ad(t,e,n){let r=await t.run(bg,[e.map(o=>o.tenantId),e.map(o=>o.runId),e.map(o=>o.seq),e.map(o=>o.token),n]);return new Map(r.map(o=>{let s=h(o);return[`${s.text("run_id")}:${s.number("seq")}`,{paused:s.boolean("paused")}]}))}i(Ad,"beatIfClaimed");function xr(t){return`open as materialized (
  select d.tenant_id, d.run_id, d.seq, d.status, d.token, d.claimed_by,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + ${t}::double precision * interval '1 second') end as over_at
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id
  where d.status in ('HELD', 'PENDING', 'CLAIMED')
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from open
  where d.tenant_id = open.tenant_id and d.run_id = open.run_id and d.seq = open.seq
  returning d.run_id
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select open.tenant_id, open.run_id, 'worker', open.seq::text, open.seq, open.token, open.claimed_by, open.over_at,
    ghouls.clock(), coalesce(open.over_at, ghouls.clock())
  from open
  where open.status = 'CLAIMED'
  returning run_id
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${Me}, i.seq, i.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
  from r
  join ghouls.intents i on i.tenant_id = r.tenant_id and i.run_id = r.run_id and i.outcome is null
  join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
)`}i(xr,"takenAway");var Ig=y("runs.cancel",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${E(Le)})
  for update
), ${xr("$5")}
update ghouls.runs run
set status = 'CANCELLING', cancelled_by = $3, cancel_reason = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function bi(t,e,n,r){return t.transaction("runs.cancel",async o=>{let s=(await P(o,[e])).get(e.runId);if(s===void 0)return null;let[a]=await o.run(Ig,[e.tenantId,e.runId,n.actor,n.reason,r]);return a===void 0?{cancelled:!1,status:s}:{cancelled:!0,status:await re(o,e)??h(a).text("status")}})}i(bi,"cancelRun");var Ag=y("evidence.reject",`
insert into ghouls.evidence (tenant_id, run_id, evidence_id, class, seq, token, call, outcome, body_text, body_digest, recorded_at)
select d.tenant_id, d.run_id, gen_random_uuid(), 'rejected', d.seq, d.token, $5, $6, $7, $8, ghouls.clock()
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4`);async function Sd(t,e,n){let{call:r,outcome:o,bodyText:s,bodyDigest:a}=n;await t.run(Ag,[e.tenantId,e.runId,e.seq,e.token,r,o,s,a])}i(Sd,"recordRejectedResult");function ze({epoch:t,scope:e,kind:n,name:r,nth:o}){return[t,e,n,r,o]}i(ze,"callValues");function Ge(t){let e=h(t);return{epoch:e.number("epoch"),scope:e.text("scope"),kind:e.text("kind"),name:e.text("name"),nth:e.number("nth")}}i(Ge,"callOf");var Cg=_("arms.of-run",`
select a.arm_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.owner, a.generation, a.seq, a.due_at, a.tries,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in, c.consent_id, t.attempt_id,
  t.status as attempt_status, t.deadline_at, child.run_id as child_run_id,
  coalesce(c.request_digest, t.request_digest, child.request_digest) as request_digest
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
left join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
left join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by a.created_at, a.arm_id`),Rg=_("arms.retries",`
select a.epoch, a.scope, a.kind, a.name, a.nth, max(a.tries) as tries,
  max(a.due_at) filter (where a.closed_at is null) as due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.epoch = $3 and a.kind = 'step'
group by a.epoch, a.scope, a.kind, a.name, a.nth`);async function bn(t,e){return(await t.run(Cg,[e.tenantId,e.runId])).map(r=>{let o=h(r);return{armId:o.text("arm_id"),call:Ge(r),owner:o.text("owner"),generation:o.number("generation"),seq:o.number("seq"),dueAt:o.dateOrNull("due_at")??o.dateOrNull("deadline_at"),dueInSeconds:o.numberOrNull("due_in"),tries:o.numberOrNull("tries"),consentId:o.textOrNull("consent_id"),attemptId:o.textOrNull("attempt_id"),attemptStatus:o.textOrNull("attempt_status"),childRunId:o.textOrNull("child_run_id"),requestDigest:o.textOrNull("request_digest")}})}i(bn,"readOpenArms");async function Cd(t,e,n){return(await t.run(Rg,[e.tenantId,e.runId,n])).map(o=>{let s=h(o);return{call:Ge(o),tries:s.number("tries"),dueAt:s.dateOrNull("due_at")}})}i(Cd,"readRetries");var Rd=`c.tenant_id, c.run_id, c.consent_id, c.status, c.title, c.request_digest,
  c.deciders, c.quorum, c.requester_may_decide, c.on_expiry, c.source, c.created_at, c.expires_at, c.closed_at, c.closed_by,
  run.workflow_name, run.requested_by`,xi=`${Rd}, c.request_text, c.stored_digest`,Ir=`from ghouls.consents c
join ghouls.runs run on run.tenant_id = c.tenant_id and run.run_id = c.run_id`,Dg=_("consents.read",`
select ${xi}
${Ir}
where c.tenant_id = $1 and c.consent_id = $2`),Og=_("consents.decisions",`
select s.subject, s.verdict, s.decided_at, s.comment_text
from ghouls.consent_decisions s
where s.tenant_id = $1 and s.run_id = $2 and s.consent_id = $3
order by s.decided_at, s.subject`),Ng=_("consents.page",`
select ${Rd}, ${te("c.created_at")},
  encode(sha256(convert_to(c.request_text, 'UTF8')), 'hex') = c.stored_digest as intact
${Ir}
where c.tenant_id = $1 and ($3::uuid is null or c.run_id = $3) and ($4::text is null or c.status = $4)
  and ${hr("c.created_at","c.consent_id",5)}
order by c.created_at desc, c.consent_id desc
limit $2`),Pg=_("consents.lock",`
select c.status, c.closed_by, c.deciders, c.quorum, c.requester_may_decide, c.request_digest,
  coalesce(c.expires_at <= ghouls.clock(), false) as expired
from ghouls.consents c
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3
for update`),qg=y("consents.decide",`
with word as (
  insert into ghouls.consent_decisions (tenant_id, run_id, consent_id, subject, verdict, comment_text, comment_digest, decided_at)
  select c.tenant_id, c.run_id, c.consent_id, $4, $5, $6, $7, ghouls.clock()
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING'
  on conflict (tenant_id, run_id, consent_id, subject) do nothing
  returning tenant_id, run_id, consent_id, decided_at
), closed as (
  update ghouls.consents c
  set status = $8, closed_at = word.decided_at, closed_by = $4
  from word
  where $8 <> 'PENDING' and c.tenant_id = word.tenant_id and c.run_id = word.run_id and c.consent_id = word.consent_id
    and c.status = 'PENDING'
  returning c.consent_id
)
select (select count(*) from closed)::integer as closed from word`);async function $d(t,e,n,r){let o=await Er(t,e);return o===null?null:t.transaction("consents.decide",async s=>{await P(s,[o]);let a=[o.tenantId,o.runId,o.consentId],[d]=await s.run(Pg,a);if(d===void 0)return null;let u=h(d),l=ni({status:u.text("status"),closedBy:u.textOrNull("closed_by"),deciders:o.deciders,quorum:o.quorum,requesterMayDecide:o.requesterMayDecide,requestedBy:o.requestedBy,requestDigest:o.requestDigest,expired:u.boolean("expired"),decisions:await Ei(s,o)},n,r.asSource===!0),c=l.kind==="counts"||l.kind==="expired";if(l.kind==="counts"){let{subject:p,verdict:w,commentText:g,commentDigest:I}=n;await s.run(qg,[...a,p,w,g,I,l.becomes])}let m=c?await Oe(s,o,r.publisherGraceSeconds):null,f=c?await Er(s,e)??o:o;return{judgement:l,consent:{...f,status:c?f.status:u.text("status")},resumption:m}})}i($d,"decideConsent");async function Er(t,e){let[n]=await t.run(Dg,[e.tenantId,e.consentId]);return n===void 0?null:Ii(n)}i(Er,"readConsent");async function Ei(t,e){return(await t.run(Og,[e.tenantId,e.runId,e.consentId])).map(r=>{let o=h(r);return{by:o.text("subject"),verdict:o.text("verdict"),at:o.date("decided_at"),commentText:o.textOrNull("comment_text")}})}i(Ei,"readDecisions");async function Dd(t,e,n,r){let o=await t.run(Ng,yr(e,n,r)),{shown:s,next:a}=gr(o,r.limit,"consent_id",d=>({...Od(d),intact:h(d).boolean("intact")}));return{consents:s,next:a}}i(Dd,"readConsentPage");function Ii(t){let e=h(t);return{...Od(t),requestText:e.text("request_text"),storedDigest:e.text("stored_digest")}}i(Ii,"consentOf");function Od(t){let e=h(t);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),consentId:e.text("consent_id"),status:e.text("status"),title:e.text("title"),requestDigest:e.text("request_digest"),deciders:e.texts("deciders"),quorum:e.number("quorum"),requesterMayDecide:e.boolean("requester_may_decide"),onExpiry:e.text("on_expiry"),source:e.textOrNull("source"),workflow:e.text("workflow_name"),requestedBy:e.text("requested_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),closedAt:e.dateOrNull("closed_at"),closedBy:e.textOrNull("closed_by")}}i(Od,"listedOf");var vr=_t("run","FAILING"),vi=`(
      select held.status from ghouls.deliveries held
      where held.tenant_id = run.tenant_id and held.run_id = run.run_id and held.seq = run.enqueue_seq
    ) is distinct from 'HELD'`,Tg=_("runs.overdue",`
select run.tenant_id, run.run_id, run.status, run.deadline_at, ${te("run.deadline_at")}
from ghouls.runs run
where run.deadline_at <= ghouls.clock() and run.status in (${E(vr)}) and run.quarantined_at is null
  and ${vi} and ${se("run.deadline_at","run.run_id",2)}
order by run.deadline_at, run.run_id
limit $1`),Mg=y("runs.fail-overdue",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${E(vr)})
    and run.quarantined_at is null and run.deadline_at <= ghouls.clock()
  for update
), ${xr("$5")}
update ghouls.runs run
set status = 'FAILING', error_code = 'deadline', error_text = $3, error_digest = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function Nd(t,e,n){let r=await t.run(Tg,[e,...ce(n)]);return me(r,e,o=>{let s=h(o);return{tenantId:s.text("tenant_id"),runId:s.text("run_id"),status:s.text("status"),deadlineAt:s.date("deadline_at")}})}i(Nd,"readOverdueRuns");async function Pd(t,e,n){return t.transaction("runs.fail-overdue",async r=>{await P(r,[e]);let{tenantId:o,runId:s,errorText:a,errorDigest:d}=e,[u]=await r.run(Mg,[o,s,a,d,n]);return u===void 0?null:await re(r,e)??h(u).text("status")})}i(Pd,"failOverdueRun");var zg=_("deliveries.given-back-before",`
select count(*)::integer as times
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq < $3::integer and d.seq >= $3::integer - $4::integer
  and d.outcome = 'given_back'`);async function qd(t,{tenantId:e,runId:n,seq:r},o){let[s]=await t.run(zg,[e,n,r,o]);return s!==void 0&&h(s).number("times")>=o}i(qd,"wereGivenBack");async function zt(t,e,n,r){try{return await t.run(n,r)}catch(o){throw!(o instanceof T)||o.sqlState!=="42501"?o:new b("configuration_invalid",`this role may not manage ${e}`,{fix:`Give the connection string of the role that owns the schema (GHOULS_MIGRATION_DATABASE_URL): the application's only reads ${e}.`,cause:o})}}i(zt,"asManager");var Ar=`g.tenant_id, g.grant_id, g.name, g.holder, g.created_by, g.created_at, g.expires_at, g.revoked_at, g.revoked_by,
  g.revocation_reason, coalesce(g.expires_at <= ghouls.clock(), false) as expired`,Fg=_("grants.live",`
select ${Ar}
from ghouls.grants g
where g.tenant_id = $1 and g.name = $2 and g.holder = any($3::text[]) and g.revoked_at is null
  and (g.expires_at is null or g.expires_at > ghouls.clock())
order by g.expires_at desc nulls first, g.grant_id
limit 1`),Ug=_("grants.by-id",`
select ${Ar}
from ghouls.grants g
where g.grant_id = $1`),Wg=y("grants.create",`
insert into ghouls.grants (tenant_id, grant_id, name, holder, created_by, created_at, expires_at)
select q.tenant_id, q.grant_id, q.name, q.holder, coalesce(q.created_by, 'database role ' || session_user), ghouls.clock(),
  ghouls.clock() + q.expires_ms * interval '1 millisecond'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::double precision[])
  as q(tenant_id, grant_id, name, holder, created_by, expires_ms)
on conflict (grant_id) do nothing`),Bg=_("grants.page",`
select ${Ar}
from ghouls.grants g
order by g.created_at desc, g.grant_id
limit $1`),Kg=_("grants.page-of-tenant",`
select ${Ar}
from ghouls.grants g
where g.tenant_id = $1
order by g.created_at desc, g.grant_id
limit $2`),Hg=y("grants.revoke",`
update ghouls.grants g
set revoked_at = ghouls.clock(), revoked_by = coalesce($2::text, 'database role ' || session_user), revocation_reason = $3
where g.grant_id = $1 and g.revoked_at is null
returning g.tenant_id, g.grant_id`);async function Ld(t,{tenantId:e,name:n},r){let[o]=await t.run(Fg,[e,n,r]);return o===void 0?null:Ai(o)}i(Ld,"readLiveGrant");async function Td(t,e){let{tenantId:n,grantId:r,name:o,holder:s,createdBy:a,expiresInMs:d}=e,u=[n,r,o,s,a,d].map(c=>[c]);await zt(t,"grants",Wg,u);let l=await zd(t,r);if(l?.tenantId===n&&l.name===o&&l.holder===s)return l;throw new b("idempotency_conflict",`the id ${r} is another grant's`,{fix:"Make a grant anew: its id is random."})}i(Td,"createGrant");async function Md(t,e,n){return(e.tenantId===void 0?await t.run(Bg,[n]):await t.run(Kg,[e.tenantId,n])).map(Ai)}i(Md,"readGrantPage");async function jd(t,e,n){let r=await zt(t,"grants",Hg,[e,n.actor,n.reason]),o=await zd(t,e);return o===null?null:{revoked:r.length>0,grant:o}}i(jd,"revokeGrant");async function zd(t,e){let[n]=await t.run(Ug,[e]);return n===void 0?null:Ai(n)}i(zd,"readGrant");function Ai(t){let e=h(t);return{tenantId:e.text("tenant_id"),grantId:e.text("grant_id"),name:e.text("name"),holder:e.text("holder"),createdBy:e.text("created_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),revokedAt:e.dateOrNull("revoked_at"),revokedBy:e.textOrNull("revoked_by"),revocationReason:e.textOrNull("revocation_reason"),expired:e.boolean("expired")}}i(Ai,"grantOf");var Vg=_("deliveries.expired-holds",`
select d.tenant_id, d.run_id, d.hold_expires_at, ${te("d.hold_expires_at")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'HELD' and d.hold_expires_at <= ghouls.clock() and run.status = 'QUEUED' and run.quarantined_at is null
  and ${se("d.hold_expires_at","d.run_id",2)}
order by d.hold_expires_at, d.run_id
limit $1`),Yg=y("deliveries.expire-holds",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as q(tenant_id, run_id, error_text, error_digest)
), expired as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.error_text, wanted.error_digest
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq
  where ${gn("run.status","FAILING")} and run.quarantined_at is null
    and d.status = 'HELD' and ${mr("d.status","FENCED")} and d.hold_expires_at <= ghouls.clock()
  order by d.run_id
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from expired
  where d.tenant_id = expired.tenant_id and d.run_id = expired.run_id and d.seq = expired.seq
  returning d.tenant_id, d.run_id
)
update ghouls.runs run
set status = 'FAILING', error_code = 'hold_expired', error_text = expired.error_text, error_digest = expired.error_digest
from fenced
join expired on expired.tenant_id = fenced.tenant_id and expired.run_id = fenced.run_id
where run.tenant_id = fenced.tenant_id and run.run_id = fenced.run_id
returning run.tenant_id, run.run_id, run.status`);async function Gd(t,e,n){let r=await t.run(Vg,[e,...ce(n)]);return me(r,e,o=>({...Ud(o),expiredAt:h(o).date("hold_expires_at")}))}i(Gd,"readExpiredHolds");async function Fd(t,e){return e.length===0?[]:t.transaction("deliveries.expire-holds",async n=>{await P(n,e);let r=await n.run(Yg,[e.map(s=>s.tenantId),e.map(s=>s.runId),e.map(s=>s.errorText),e.map(s=>s.errorDigest)]),o=[];for(let s of r){let a=Ud(s),d=h(s).text("status");o.push({...a,status:await re(n,a)??d})}return o})}i(Fd,"expireHolds");function Ud(t){return{tenantId:h(t).text("tenant_id"),runId:h(t).text("run_id")}}i(Ud,"keyOf");var Xg=y("intents.open",`
with ${F(U)}
insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
select held.tenant_id, held.run_id, $5, $6, $7, $8, $9, $10, held.seq, held.token, ghouls.clock()
from held
on conflict do nothing
returning number`),Zg=_("intents.of-call",`
select i.number
from ghouls.intents i
where i.tenant_id = $1 and i.run_id = $2 and i.epoch = $3 and i.scope = $4 and i.kind = $5 and i.name = $6 and i.nth = $7
  and i.number = $8 and i.token = $9 and i.outcome is null`),ey=y("intents.close",`
with ${F(U)}
update ghouls.intents i
set outcome = $11, outcome_at = ghouls.clock()
from held
where i.tenant_id = held.tenant_id and i.run_id = held.run_id and i.epoch = $5 and i.scope = $6 and i.kind = $7
  and i.name = $8 and i.nth = $9 and i.number = $10 and i.outcome is null
returning i.number`),ty=_("intents.open-of-run",`
select i.epoch, i.scope, i.kind, i.name, i.nth, i.number, i.seq, i.token,
  (d.status = 'SETTLED' and d.outcome <> 'lost') or item.acknowledged_at is not null
    or coalesce(item.over_at, d.acts_until) <= ghouls.clock() as over,
  coalesce(item.over_at, d.acts_until) as over_at
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
left join ghouls.containment_items item
  on item.tenant_id = i.tenant_id and item.run_id = i.run_id and item.kind = 'worker' and item.token = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.outcome is null
order by i.started_at, i.number`),ny=_("intents.last-numbers",`
select i.epoch, i.scope, i.kind, i.name, i.nth, max(i.number) as number,
  (count(*) filter (where i.outcome = 'not_done' or d.outcome is distinct from 'lost'))::integer as tries
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
where i.tenant_id = $1 and i.run_id = $2
group by i.epoch, i.scope, i.kind, i.name, i.nth`);async function Wd(t,e,n,r){return(await t.run(Xg,[e.tenantId,e.runId,e.seq,e.token,...ze(n),r])).length===1?!0:(await t.run(Zg,[e.tenantId,e.runId,...ze(n),r,e.token])).length===1}i(Wd,"openIntentIfClaimed");async function Bd(t,e,n,r,o){let s=[e.tenantId,e.runId,e.seq,e.token];return(await t.run(ey,[...s,...ze(n),r,o])).length===1}i(Bd,"closeIntentIfClaimed");async function Kd(t,e){return(await t.run(ty,[e.tenantId,e.runId])).map(r=>{let o=h(r);return{...Ge(r),number:o.number("number"),seq:o.number("seq"),token:o.text("token"),over:r.over===!0,overAt:o.dateOrNull("over_at")}})}i(Kd,"readOpenIntents");async function Hd(t,e){return(await t.run(ny,[e.tenantId,e.runId])).map(r=>{let o=h(r);return{...Ge(r),number:o.number("number"),tries:o.number("tries")}})}i(Hd,"readLastIntents");var oy=y("undos.start",`
with ${F(U)}, before as materialized (
  select u.run_id
  from held
  join ghouls.undos u on u.tenant_id = held.tenant_id and u.run_id = held.run_id and u.epoch = $5 and u.scope = $6 and u.kind = $7
    and u.name = $8 and u.nth = $9
), started as (
  insert into ghouls.undos as u (tenant_id, run_id, epoch, scope, kind, name, nth, once, seq, token, started_at)
  select held.tenant_id, held.run_id, $5, $6, $7, $8, $9, $10, held.seq, held.token, ghouls.clock()
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth)
    -- Whose code calls it as a plain step now has no intents that tell more.
    do update set seq = excluded.seq, token = excluded.token, cleared_at = null, once = u.once and excluded.once
  returning tenant_id, run_id
), marked as (
  update ghouls.runs run
  set undoable = true
  from started
  where run.tenant_id = started.tenant_id and run.run_id = started.run_id and not run.undoable
  returning run.run_id
)
select exists (select from before) as again from started where (select count(*) from marked) >= 0`),iy=y("undos.clear",`
with ${F(U)}
update ghouls.undos u
set cleared_at = ghouls.clock()
from held
where u.tenant_id = held.tenant_id and u.run_id = held.run_id and u.epoch = $5 and u.scope = $6 and u.kind = $7 and u.name = $8
  and u.nth = $9
returning u.run_id`),sy=_("undos.of-run",`
select u.epoch, u.scope, u.kind, u.name, u.nth, u.key
from ghouls.steps_to_undo u
where u.tenant_id = $1 and u.run_id = $2
order by u.started_at desc, u.key desc`);async function Jd(t,e,n,r){let o=[e.tenantId,e.runId,e.seq,e.token],[s]=await t.run(oy,[...o,...ze(n),r]);return s===void 0?null:{again:s.again===!0}}i(Jd,"startUndoableIfClaimed");async function Vd(t,e,n){let r=[e.tenantId,e.runId,e.seq,e.token];return(await t.run(iy,[...r,...ze(n)])).length===1}i(Vd,"clearUndoableIfClaimed");async function Yd(t,e){return(await t.run(sy,[e.tenantId,e.runId])).map(r=>{let o=h(r);return{...Ge(r),key:o.text("key")}})}i(Yd,"readStepsToUndo");var dy=_("items.of-run",`
select i.kind, i.key, i.seq, i.worker, i.over_at, i.created_at, i.tries, i.last_error, i.acknowledged_at, i.acknowledged_by,
  i.acknowledgement
from ghouls.containment_items i
where i.tenant_id = $1 and i.run_id = $2
order by i.created_at, i.kind, i.key`),uy=_("items.due",`
select i.tenant_id, i.run_id, ${te("i.due_at")}
from (
  (select i.tenant_id, i.run_id, i.next_look_at as due_at
  from ghouls.containment_items i
  where i.acknowledged_at is null and i.next_look_at <= ghouls.clock() and ${se("i.next_look_at","i.run_id",2)}
  order by i.next_look_at, i.run_id
  limit $1)
  union all
  (select run.tenant_id, run.run_id, run.created_at
  from ghouls.runs run
  where run.status in (${E(G)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and ${se("run.created_at","run.run_id",2)}
  order by run.created_at, run.run_id
  limit $1)
) as i
order by i.due_at, i.run_id
limit $1`),ly=y("items.acknowledge-over",`
with over as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.acknowledged_at is null
    and ((i.kind = 'worker' and i.over_at <= ghouls.clock())
      or (i.kind = 'child' and exists (
        select from ghouls.runs child
        where child.tenant_id = i.tenant_id and child.run_id = i.token
          and child.status in (${E(ye("run"))}))))
  order by i.kind, i.key
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = case i.kind when 'worker' then 'time' else 'child' end,
    acknowledgement = case i.kind when 'worker' then 'nothing of its claim can act any more' else 'the run has ended' end
  from over
  where i.tenant_id = over.tenant_id and i.run_id = over.run_id and i.kind = over.kind and i.key = over.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - (select count(*) from acknowledged)::integer
where run.tenant_id = $1 and run.run_id = $2 and (select count(*) from acknowledged) > 0
returning run.open_items`),Si=`d.cause = 'contain' and d.outcome in ('lost', 'failed', 'refused') and not exists (
      select from ghouls.runs run
      where run.tenant_id = d.tenant_id and run.run_id = d.run_id and run.contain_from >= d.settled_at)`,cy=y("items.look-later",`
with due as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.acknowledged_at is null and i.next_look_at <= ghouls.clock()
  order by i.kind, i.key
  for update
)
update ghouls.containment_items i
set tries = i.tries + 1,
  next_look_at = greatest(coalesce(i.over_at, ghouls.clock()),
    ghouls.clock() + least(600, 5 * power(2, least(i.tries, 8))) * interval '1 second')
from due
where i.tenant_id = due.tenant_id and i.run_id = due.run_id and i.kind = due.kind and i.key = due.key
returning case
  when i.kind = 'worker' then i.over_at is null and i.tries >= 3
  when i.kind in ('attempt', 'child') then false
  else not exists (
      select from ghouls.containment_items other
      where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind = 'worker'
        and other.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and ${Si}) >= $3
  end as needs_word, i.kind`),my=y("deliveries.contain",`
with r as materialized (
  select run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${E(G)})
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null
        and (i.kind = 'effect' or i.kind = 'undo' and not exists (
          select from ghouls.containment_items other
          where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind <> 'undo'
            and other.acknowledged_at is null)))
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'worker' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and ${Si}) < $3
  for update
), numbered as (
  update ghouls.runs run
  set enqueue_seq = r.enqueue_seq + 1
  from r
  where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
select n.tenant_id, n.run_id, n.enqueue_seq, 'contain', 'PENDING', n.queue, n.priority, later.due_at, later.due_at, ghouls.clock()
from numbered n
cross join lateral (
  select ghouls.clock() + case when count(*) = 0 then interval '0' else 30 * power(4, count(*) - 1) * interval '1 second' end as due_at
  from ghouls.deliveries d
  where d.tenant_id = n.tenant_id and d.run_id = n.run_id and ${Si}
) as later
returning seq`),fy=y("items.note-error",`
update ghouls.containment_items i
set last_error = $5
where i.tenant_id = $1 and i.run_id = $2 and i.kind = $3 and i.key = $4 and i.acknowledged_at is null
returning i.key`);async function Qd(t,e,n,r){await t.run(fy,[e.tenantId,e.runId,n.kind,n.key,r])}i(Qd,"noteError");async function Xd(t,e){return(await t.run(dy,[e.tenantId,e.runId])).map(r=>{let o=h(r);return{kind:o.text("kind"),key:o.text("key"),seq:o.number("seq"),worker:o.text("worker"),overAt:o.dateOrNull("over_at"),createdAt:o.date("created_at"),tries:o.number("tries"),lastError:o.textOrNull("last_error"),acknowledgedAt:o.dateOrNull("acknowledged_at"),acknowledgedBy:o.textOrNull("acknowledged_by"),acknowledgement:o.textOrNull("acknowledgement")}})}i(Xd,"readItems");async function Zd(t,e,n){let r=await t.run(uy,[e,...ce(n)]),{found:o,next:s}=me(r,e,a=>({tenantId:h(a).text("tenant_id"),runId:h(a).text("run_id")}));return{found:[...new Map(o.map(a=>[a.runId,a])).values()],next:s}}i(Zd,"readDueItems");async function Ci(t,e){let n=await t.run(ly,[e.tenantId,e.runId]);return n.length>0&&await br(t,e),n.length>0}i(Ci,"acknowledgeOver");async function Ri(t,e,n){let r=[e.tenantId,e.runId];return t.transaction("items.contain",async o=>{await P(o,[e]),await Ci(o,e);let s=await re(o,e);if(s!==null)return{ended:s,contain:!1,needsWord:!1,children:!1};let a=await o.run(my,[...r,n]),d=await o.run(cy,[...r,n]);return{ended:s,contain:a.length===1,needsWord:a.length===0&&d.some(u=>u.needs_word===!0),children:d.some(u=>u.kind==="child")}})}i(Ri,"containRun");var $i=`k.tenant_id, k.key_id, k.subject, k.roles, k.permissions, k.created_by, k.created_at, k.expires_at, k.last_used_at,
  k.revoked_at, k.revoked_by, k.revocation_reason, coalesce(k.expires_at <= ghouls.clock(), false) as expired`,hy=_("keys.by-id",`
select ${$i}, k.digest, coalesce(k.last_used_at < ghouls.clock() - interval '1 hour', true) as use_is_due
from ghouls.api_keys k
where k.key_id = $1`),gy=y("keys.mark-used",`
update ghouls.api_keys k
set last_used_at = ghouls.clock()
where k.tenant_id = $1 and k.key_id = $2
  and (k.last_used_at is null or k.last_used_at < ghouls.clock() - interval '1 hour')`),yy=y("keys.create",`
insert into ghouls.api_keys (tenant_id, key_id, digest, subject, roles, permissions, created_by, created_at, expires_at)
select q.tenant_id, q.key_id, q.digest, q.subject, array(select jsonb_array_elements_text(q.roles::jsonb)),
  array(select jsonb_array_elements_text(q.permissions::jsonb)), coalesce(q.created_by, 'database role ' || session_user),
  ghouls.clock(), ghouls.clock() + q.expires_ms * interval '1 millisecond'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::double precision[])
  as q(tenant_id, key_id, digest, subject, roles, permissions, created_by, expires_ms)
order by q.key_id
on conflict (key_id) do nothing`),_y=_("keys.page",`
select ${$i}
from ghouls.api_keys k
order by k.created_at desc, k.key_id
limit $1`),wy=_("keys.page-of-tenant",`
select ${$i}
from ghouls.api_keys k
where k.tenant_id = $1
order by k.created_at desc, k.key_id
limit $2`),ky=y("keys.revoke",`
update ghouls.api_keys k
set revoked_at = ghouls.clock(), revoked_by = coalesce($2::text, 'database role ' || session_user), revocation_reason = $3
where k.key_id = $1 and k.revoked_at is null
returning k.tenant_id, k.key_id`),by=_("keys.roles-of-subject",`
select k.roles
from ghouls.api_keys k
where k.tenant_id = $1 and k.subject = $2 and k.revoked_at is null
  and (k.expires_at is null or k.expires_at > ghouls.clock())`);async function Sr(t,e){let[n]=await t.run(hy,[e]);if(n===void 0)return null;let r=h(n);return{...su(n),digest:r.text("digest"),useIsDue:r.boolean("use_is_due")}}i(Sr,"readKey");async function eu(t,e){await t.run(gy,[e.tenantId,e.keyId])}i(eu,"markKeyUsed");async function tu(t,e){let n=i(r=>e.map(r),"column");return await zt(t,"keys",yy,[n(r=>r.tenantId),n(r=>r.keyId),n(r=>r.digest),n(r=>r.subject),n(r=>JSON.stringify(r.roles)),n(r=>JSON.stringify(r.permissions)),n(r=>r.createdBy),n(r=>r.expiresInMs)]),Promise.all(e.map(r=>xy(t,r)))}i(tu,"createKeys");async function xy(t,{tenantId:e,keyId:n,digest:r}){let o=await Sr(t,n);if(o!==null&&o.tenantId===e&&ft(o.digest,r))return iu(o);throw new b("idempotency_conflict",`the id ${n} is another key's`,{fix:"Make a key anew: its id is random."})}i(xy,"readMade");async function nu(t,e,n){return(e.tenantId===void 0?await t.run(_y,[n]):await t.run(wy,[e.tenantId,n])).map(su)}i(nu,"readKeyPage");async function ru(t,e,n){let r=await zt(t,"keys",ky,[e,n.actor,n.reason]),o=await Sr(t,e);return o===null?null:{revoked:r.length>0,key:iu(o)}}i(ru,"revokeKey");async function ou(t,{tenantId:e,subject:n}){let r=await t.run(by,[e,n]);return r.length===0?null:[...new Set(r.flatMap(o=>h(o).texts("roles")))]}i(ou,"readRolesOfSubject");function iu({digest:t,useIsDue:e,...n}){return n}i(iu,"shown");function su(t){let e=h(t);return{tenantId:e.text("tenant_id"),keyId:e.text("key_id"),subject:e.text("subject"),roles:e.texts("roles"),permissions:e.texts("permissions"),createdBy:e.text("created_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),lastUsedAt:e.dateOrNull("last_used_at"),revokedAt:e.dateOrNull("revoked_at"),revokedBy:e.textOrNull("revoked_by"),revocationReason:e.textOrNull("revocation_reason"),expired:e.boolean("expired")}}i(su,"keyOf");var Iy=_("consents.to-look-up",`
select ${xi}, c.looks, ${te("c.next_look_at")}
${Ir}
where c.status = 'PENDING' and c.source is not null and c.next_look_at <= ghouls.clock()
  and ${se("c.next_look_at","c.run_id",2)}
order by c.next_look_at, c.run_id
limit $1`),vy=y("consents.looked-up",`
update ghouls.consents c
set looks = c.looks + 1, next_look_at = ghouls.clock() + $4::double precision * interval '1 second'
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING'
returning c.looks`);async function au(t,e,n){let r=await t.run(Iy,[e,...ce(n)]);return me(r,e,o=>({...Ii(o),looks:h(o).number("looks")}))}i(au,"readConsentsToLookUp");async function du(t,e,n){await t.run(vy,[e.tenantId,e.runId,e.consentId,n])}i(du,"postponeLookUp");var Sy=_("deliveries.lapsed",`
select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, run.status, run.on_worker_loss, run.losses,
  ${te("d.lease_until")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() and ($2::uuid[] is null or d.run_id = any($2::uuid[]))
  and ${se("d.lease_until","d.run_id",3)}
order by d.lease_until, d.run_id
limit $1`),Cy=y("deliveries.settle-lost",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[], $5::text[], $6::text[])
    as q(tenant_id, run_id, seq, token, error_text, error_digest)
), lost as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.checkpoint_generation, wanted.error_text, wanted.error_digest,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + $8::double precision * interval '1 second') end as over_at,
    run.status as run_status,
    case when run.status in (${E(G)}) then run.status
      when run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer then 'QUEUED'
      else 'FAILING' end as next_status
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = wanted.seq
  where d.status = 'CLAIMED' and d.token = wanted.token and d.lease_until < ghouls.clock()
    and (char_length(wanted.error_digest) > 0 or run.status in (${E(G)})
      or (run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer))
  order by d.run_id
  for update of d
), settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'lost', settled_at = ghouls.clock()
  from lost
  where t.tenant_id = lost.tenant_id and t.run_id = lost.run_id and t.seq = lost.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at, t.queue, t.priority
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select lost.tenant_id, lost.run_id, 'worker', lost.seq::text, lost.seq, lost.token, lost.claimed_by, lost.over_at,
    settled.settled_at, coalesce(lost.over_at, settled.settled_at)
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  returning tenant_id, run_id
), unknown as materialized (
  select i.tenant_id, i.run_id, ${Me} as key, i.seq, i.token, lost.claimed_by
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  join ghouls.intents i on i.tenant_id = lost.tenant_id and i.run_id = lost.run_id
  where i.outcome is null and lost.next_status = 'FAILING' and lost.run_status <> 'FAILING'
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select u.tenant_id, u.run_id, 'effect', u.key, u.seq, u.token, u.claimed_by, ghouls.clock(), ghouls.clock()
  from unknown u
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning tenant_id, run_id
), moved as (
  update ghouls.runs run
  set status = lost.next_status,
    losses = run.losses + case when lost.next_status = lost.run_status then 0 else 1 end,
    enqueue_seq = run.enqueue_seq + case when lost.next_status = 'QUEUED' then 1 else 0 end,
    open_items = run.open_items + 1 + (
      select count(*) from effect_item e where e.tenant_id = run.tenant_id and e.run_id = run.run_id)::integer,
    error_code = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then 'ghoul_lost' else run.error_code end,
    error_text = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_text else run.error_text end,
    error_digest = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_digest else run.error_digest end
  from lost
  join worker_item w on w.tenant_id = lost.tenant_id and w.run_id = lost.run_id
  where run.tenant_id = lost.tenant_id and run.run_id = lost.run_id
  returning run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, lost.checkpoint_generation
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'recovered', 'PENDING', moved.queue, moved.priority,
    moved.checkpoint_generation, ghouls.clock(), ghouls.clock() + $9::double precision * interval '1 second', ghouls.clock()
  from moved
  where moved.status = 'QUEUED'
  returning run_id
)
select moved.tenant_id, moved.run_id, moved.status, moved.enqueue_seq, moved.queue
from moved
left join next on next.run_id = moved.run_id`);async function uu(t,e,{after:n,runIds:r=null}={}){let o=await t.run(Sy,[e,r,...ce(n)]);return me(o,e,s=>{let a=h(s);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),seq:a.number("seq"),token:a.text("token"),worker:a.text("claimed_by"),runStatus:a.text("status"),onWorkerLoss:a.text("on_worker_loss"),losses:a.number("losses")}})}i(uu,"readLapsedClaims");async function lu(t,e,n){return e.length===0?[]:t.transaction("deliveries.settle-lost",async r=>(await P(r,e),(await r.run(Cy,[e.map(s=>s.tenantId),e.map(s=>s.runId),e.map(s=>s.seq),e.map(s=>s.token),e.map(s=>s.errorText),e.map(s=>s.errorDigest),n.maxLosses,n.actsMarginSeconds,n.publisherGraceSeconds])).map(s=>{let a=h(s);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),status:a.text("status"),enqueueSeq:a.number("enqueue_seq"),queue:a.text("queue")}})))}i(lu,"settleLostClaims");var $y=_("children.due",`
select e.tenant_id, e.run_id, e.parent_run_id, ${te("e.ended_at")}
from ghouls.child_ends e
where ${se("e.ended_at","e.run_id",2)}
order by e.ended_at, e.run_id
limit $1`),Dy=y("children.forget-end","delete from ghouls.child_ends e where e.tenant_id = $1 and e.run_id = $2 returning e.run_id"),Oy=_("children.to-cancel",`
select child.tenant_id, child.run_id
from ghouls.containment_items i
join ghouls.runs child on child.tenant_id = i.tenant_id and child.run_id = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.kind = 'child' and i.acknowledged_at is null and child.parent_close = 'cancel'
  and child.status in (${E(Le)})
order by child.run_id`);async function cu(t,e,n){let r=await t.run($y,[e,...ce(n)]);return me(r,e,o=>{let s=h(o);return{tenantId:s.text("tenant_id"),runId:s.text("run_id"),parentRunId:s.text("parent_run_id")}})}i(cu,"readChildEnds");async function mu(t,{tenantId:e,runId:n,parentRunId:r},o){let s={tenantId:e,runId:r};return t.transaction("children.tell-parent",async a=>{let d=(await P(a,[s])).get(r),u=d!==void 0&&!_e(d),l=d!==void 0&&je.includes(d),c=u&&await Ci(a,s)?await re(a,s):null,m=l?await Oe(a,s,o):null;return await a.run(Dy,[e,n]),{resumption:m,ended:c}})}i(mu,"tellParent");async function fu(t,e){return(await t.run(Oy,[e.tenantId,e.runId])).map(r=>({tenantId:h(r).text("tenant_id"),runId:h(r).text("run_id")}))}i(fu,"readChildrenToCancel");var Py=y("children.start",`
with ${F(U)}, arm as (
  insert into ghouls.arms (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, created_at)
  select held.tenant_id, held.run_id, $5::uuid, $6, $7, 'child', $8, $9, 'child', held.generation + 1, held.seq, ghouls.clock()
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) where closed_at is null do nothing
  returning tenant_id, run_id, arm_id, created_at
), parent as (
  update ghouls.runs run
  set children = run.children + 1, losses = 0, idle_yields = 0
  from arm
  where run.tenant_id = arm.tenant_id and run.run_id = arm.run_id
  returning run.tenant_id, run.run_id, run.first_run_id, run.priority, run.agent, run.requested_by, run.requested_roles, arm.arm_id, arm.created_at
), before as materialized (
  select c.first_run_id
  from parent
  join ghouls.arms a on a.tenant_id = parent.tenant_id and a.run_id in (
      select parent.first_run_id
      union all
      select again.run_id from ghouls.runs again
      where again.tenant_id = parent.tenant_id and again.first_run_id = parent.first_run_id and again.redrive_of is not null)
    and a.epoch = $6 and a.scope = $7 and a.kind = 'child' and a.name = $8 and a.nth = $9
  join ghouls.runs c on c.tenant_id = a.tenant_id and c.parent_run_id = a.run_id and c.parent_arm_id = a.arm_id
  where parent.first_run_id <> parent.run_id and c.workflow_name = $12
  limit 1
), child as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest,
    queue, priority, agent, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, deadline_at, created_at,
    on_worker_loss, parent_run_id, parent_arm_id, parent_close)
  select parent.tenant_id, $10::uuid, coalesce(before.first_run_id, $10::uuid), $11, $12, $13::integer, $14, $15, coalesce($16::smallint, parent.priority), parent.agent,
    parent.requested_by, parent.requested_roles, 'QUEUED', 1, $17, $18,
    parent.created_at + $19::double precision * interval '1 millisecond', parent.created_at, $20, parent.run_id, parent.arm_id, $21
  from parent
  left join before on true
  returning tenant_id, run_id, enqueue_seq, queue, priority, created_at
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
select child.tenant_id, child.run_id, child.enqueue_seq, 'admitted', 'PENDING', child.queue, child.priority, child.created_at,
  child.created_at + $22::double precision * interval '1 second', child.created_at
from child
returning run_id`),qy=_("children.started",`
select child.run_id
from ghouls.runs child
where child.tenant_id = $1 and child.parent_run_id = $2 and child.parent_arm_id = $3::uuid`);async function pu(t,e,n,r){let{call:o,workflow:s}=n,[a]=await t.run(Py,[e.tenantId,e.runId,e.seq,e.token,n.armId,o.epoch,o.scope,o.name,o.nth,n.runId,n.requestDigest,s.name,s.version,s.digest,n.queue,n.priority,n.inputText,n.inputDigest,n.deadlineMs,n.onWorkerLoss,n.parentClose,r.publisherGraceSeconds]);if(a!==void 0)return!0;let[d]=await t.run(qy,[e.tenantId,e.runId,n.armId]);return d!==void 0&&h(d).text("run_id")===n.runId}i(pu,"startChildIfClaimed");var gu="d.tenant_id, d.run_id, d.seq, d.token, d.cause, d.claimed_at, d.acts_until, d.checkpoint_generation",Di=`run.workflow_name, run.workflow_version, run.workflow_digest, run.first_run_id, run.queue, run.agent,
  run.requested_by, run.requested_roles, run.input_text, run.input_digest, run.journal_length, run.journal_bytes, run.created_at,
  run.starts_at, run.deadline_at, run.epoch, run.journal_start, run.idle_yields, run.workflow_absent_since, run.open_items,
  run.parent_run_id, coalesce(run.input_stored_for, run.run_id) as input_stored_for`,Ty=y("deliveries.claim",`
with wanted as materialized (
  select q.run_id, q.seq, q.token from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
), r as materialized (
  select run.tenant_id, run.run_id, run.workflow_name, run.status, run.paused_at, run.quarantined_at
  from ghouls.runs run
  where run.run_id = any($1::uuid[])
  order by run.run_id
  for update
), d as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.token
  from r
  join wanted on wanted.run_id = r.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = wanted.seq
  where (select count(*) from r) >= 0 
    and ((d.cause <> 'contain' and r.status = 'QUEUED' and r.quarantined_at is null and ${jt("r")})
      or (d.cause = 'contain' and r.status in (${E(G)})
        and (r.quarantined_at is null or r.status = 'CANCELLING')))
    and ${mr("d.status","CLAIMED")} and d.due_at <= ghouls.clock()
  order by d.run_id, d.seq
  for update of d
), claimed as (
  update ghouls.deliveries t
  set status = 'CLAIMED', token = d.token, claimed_by = $4, claimed_at = ghouls.clock(),
    lease_until = ghouls.clock() + $5::double precision * interval '1 second',
    acts_until = ghouls.clock() + $6::double precision * interval '1 second'
  from d
  where t.tenant_id = d.tenant_id and t.run_id = d.run_id and t.seq = d.seq
  returning t.tenant_id, t.run_id, t.seq, t.token, t.cause, t.claimed_at, t.acts_until, t.checkpoint_generation
), running as (
  update ghouls.runs run
  set status = case when claimed.cause = 'contain' then run.status else 'RUNNING' end,
    started_at = coalesce(run.started_at, claimed.claimed_at)
  from claimed
  where run.tenant_id = claimed.tenant_id and run.run_id = claimed.run_id
  returning run.tenant_id, run.run_id, ${Di}
)
select ${gu}, ${Di}
from claimed d
join running run on run.tenant_id = d.tenant_id and run.run_id = d.run_id`),My=_("deliveries.claimed-by-token",`
select ${gu}, ${Di}
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq and d.token = q.token
where d.status = 'CLAIMED'`),jy=_("deliveries.unclaimed",`
select d.run_id, d.seq, run.status as run_status, d.status as delivery_status, d.cause, run.enqueue_seq,
  ${it("run")} as paused, run.quarantined_at is not null as quarantined,
  extract(epoch from d.due_at - ghouls.clock())::double precision as due_in,
  extract(epoch from d.lease_until - ghouls.clock())::double precision as lease_ends_in
from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq`);async function yu(t,e,n){let r=wu(e),o=e.map(d=>d.token),s=await t.run(Ty,[...r,o,n.worker,n.leaseSeconds,n.actsForSeconds]);return s.length===e.length?s.map(hu):(await t.run(My,[...r,o])).map(hu)}i(yu,"claimDeliveriesIfDue");async function _u(t,e){let n=await t.run(jy,wu(e));return new Map(n.map(r=>{let o=h(r);return[`${o.text("run_id")}:${o.number("seq")}`,{runStatus:o.text("run_status"),deliveryStatus:o.text("delivery_status"),cause:o.text("cause"),currentSeq:o.number("enqueue_seq"),seq:o.number("seq"),paused:o.boolean("paused"),quarantined:o.boolean("quarantined"),dueInSeconds:o.number("due_in"),leaseEndsInSeconds:o.numberOrNull("lease_ends_in")}]}))}i(_u,"readUnclaimed");function wu(t){return[t.map(e=>e.runId),t.map(e=>e.enqueueSeq)]}i(wu,"arrays");function hu(t){let e=h(t);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),seq:e.number("seq"),token:e.text("token"),cause:e.text("cause"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},firstRunId:e.text("first_run_id"),queue:e.text("queue"),agent:e.textOrNull("agent"),requestedBy:e.text("requested_by"),requestedRoles:e.texts("requested_roles"),inputText:e.text("input_text"),inputDigest:e.text("input_digest"),inputStoredFor:e.text("input_stored_for"),journalLength:e.number("journal_length"),journalBytes:e.number("journal_bytes"),admittedAt:e.date("created_at"),startsAt:e.dateOrNull("starts_at"),deadlineAt:e.dateOrNull("deadline_at"),checkpointGeneration:e.numberOrNull("checkpoint_generation"),epoch:e.number("epoch"),journalStart:e.number("journal_start"),idleYields:e.number("idle_yields"),workflowAbsentSince:e.dateOrNull("workflow_absent_since"),claimedAt:e.date("claimed_at"),actsUntil:e.dateOrNull("acts_until"),parentRunId:e.textOrNull("parent_run_id")}}i(hu,"claimedRun");var zy=y("deliveries.record-worker-end",`
with lost as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set worker_ended_at = ghouls.clock(), worker_end = $2, lease_until = least(d.lease_until, ghouls.clock())
from lost
where d.tenant_id = lost.tenant_id and d.run_id = lost.run_id and d.seq = lost.seq
returning d.run_id`),Gy=y("items.record-worker-end",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.worker = $1 and i.kind = 'worker' and i.acknowledged_at is null
  order by i.tenant_id, i.run_id, i.kind, i.key
  for update
)
update ghouls.containment_items i
set over_at = least(i.over_at, ghouls.clock() + $2::double precision * interval '1 second'),
  next_look_at = least(i.next_look_at, ghouls.clock() + $2::double precision * interval '1 second')
from item
where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
returning i.run_id`);async function ku(t,e){let n=await t.run(zy,[e.worker,e.how]),r=e.actsMarginSeconds??Fy;return await t.run(Gy,[e.worker,r]),await Ed(t,e.worker,r),n.length}i(ku,"recordWorkerEnd");var Fy=60;var Wy=y("journal.append",`
with ${F(U)}, entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text,
    result_digest, tries, seq, token, started_at, completed_at)
  select held.tenant_id, held.run_id, held.journal_length + 1, $5, $6, $7, $8, $9, $10, $11, $12, $13, held.seq, held.token,
    date_trunc('milliseconds', ghouls.clock()) - $14::double precision * interval '1 millisecond',
    date_trunc('milliseconds', ghouls.clock())
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) do nothing
  returning tenant_id, run_id, ordinal, completed_at
), effect as (
  update ghouls.intents i
  set outcome = case when $10 = 'ok' then 'happened' else 'failed' end, outcome_at = entry.completed_at
  from entry
  where $16::boolean and i.tenant_id = entry.tenant_id and i.run_id = entry.run_id and i.epoch = $5 and i.scope = $6
    and i.kind = $7 and i.name = $8 and i.nth = $9 and i.outcome is null
  returning i.run_id
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $15::bigint, losses = 0, idle_yields = 0
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id
)
select entry.ordinal, entry.completed_at from entry join counted on counted.run_id = entry.run_id
  and (select count(*) from effect) >= 0`),By=_("journal.entry-of-call",`
select j.ordinal, j.completed_at, j.token, j.outcome, j.result_text, j.result_digest, j.tries
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = $5 and j.name = $6 and j.nth = $7`),Ky=_("journal.read",`
select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome, j.result_text, j.result_digest, j.tries, j.seq,
  j.token, j.started_at, j.completed_at, coalesce(j.stored_for, j.run_id) as stored_for
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.ordinal > $3
order by j.ordinal`);async function bu(t,e,n){let r=await Oi(t,e,n);if(r!==null)return r;let o=await Ni(t,e,n);return o!==null&&o.token===e.token&&o.outcome===n.outcome&&o.resultDigest===n.resultDigest?{ordinal:o.ordinal,completedAt:o.completedAt}:null}i(bu,"appendEntryIfClaimed");async function Oi(t,e,n){let[r]=await t.run(Wy,[e.tenantId,e.runId,e.seq,e.token,...ze(n),n.outcome,n.resultText,n.resultDigest,n.tries,n.tookMs,n.resultBytes,n.closesIntent??!1]);return r===void 0?null:xu(r)}i(Oi,"appendOnce");async function Ni(t,e,n){let[r]=await t.run(By,[e.tenantId,e.runId,...ze(n)]);if(r===void 0)return null;let o=h(r);return{...xu(r),token:o.text("token"),outcome:o.text("outcome"),resultText:o.textOrNull("result_text"),resultDigest:o.textOrNull("result_digest"),tries:o.number("tries")}}i(Ni,"readEntryOfCall");function xu(t){let e=h(t);return{ordinal:e.number("ordinal"),completedAt:e.date("completed_at")}}i(xu,"appended");async function Eu(t,e,n=0){return(await t.run(Ky,[e.tenantId,e.runId,n])).map(o=>{let s=h(o);return{ordinal:s.number("ordinal"),...Ge(o),outcome:s.text("outcome"),resultText:s.textOrNull("result_text"),resultDigest:s.textOrNull("result_digest"),tries:s.number("tries"),seq:s.number("seq"),token:s.text("token"),storedFor:s.text("stored_for"),startedAt:s.date("started_at"),completedAt:s.date("completed_at")}})}i(Eu,"readJournal");var Jy=_("ledger.next-look",`
select extract(epoch from min(due.due_at) - ghouls.clock())::double precision as due_in
from (
  (select ghouls.clock() as due_at
  from ghouls.deliveries d
  where d.status = 'CLAIMED'
  order by d.lease_until
  limit 1)
  union all
  select pending.next_publication_at
  from generate_series(9, 0, -1) as p(priority)
  cross join lateral (
    select d.next_publication_at
    from ghouls.deliveries d
    join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
    where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at is not null
      and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.quarantined_at is null and ${jt("run")})
        or (d.cause = 'contain' and run.status in (${E(G)})
          and (run.quarantined_at is null or run.status = 'CANCELLING')))
    order by d.next_publication_at
    limit 1
  ) as pending
  union all
  (select d.hold_expires_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'HELD' and run.status = 'QUEUED' and run.quarantined_at is null
  order by d.hold_expires_at
  limit 1)
  union all
  (select i.next_look_at
  from ghouls.containment_items i
  where i.acknowledged_at is null
  order by i.next_look_at
  limit 1)
  union all
  (select a.due_at
  from ghouls.arms a
  join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
  where a.closed_at is null and a.due_at is not null and run.status in (${E(je)})
    and run.quarantined_at is null
  order by a.due_at
  limit 1)
  union all
  (select c.next_look_at
  from ghouls.consents c
  where c.status = 'PENDING' and c.source is not null
  order by c.next_look_at
  limit 1)
  union all
  (select t.next_look_at
  from ghouls.attempts t
  where t.status not in (${E(ae)})
  order by t.next_look_at
  limit 1)
  union all
  (select e.ended_at
  from ghouls.child_ends e
  order by e.ended_at
  limit 1)
  union all
  (select run.deadline_at
  from ghouls.runs run
  where run.deadline_at is not null and run.status in (${E(vr)}) and run.quarantined_at is null
    and ${vi}
  order by run.deadline_at
  limit 1)
  union all
  (select ghouls.clock()
  from ghouls.runs run
  where run.status in (${E(G)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
  order by run.created_at
  limit 1)
) as due`);async function Iu(t){let[e]=await t.run(Jy,[]);return e===void 0?null:h(e).numberOrNull("due_in")}i(Iu,"readNextLook");var Vy=y("consents.open",`
insert into ghouls.consents (tenant_id, run_id, consent_id, arm_id, status, title, request_text, stored_digest, request_digest,
  deciders, quorum, requester_may_decide, on_expiry, source, next_look_at, created_at, expires_at)
select a.tenant_id, a.run_id, $4, a.arm_id, 'PENDING', $5, $6, $7, $8, $9::text[], $10, $11, $12, $13,
  case when $13::text is null then null else a.created_at end, a.created_at, a.due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.arm_id = $3 and a.closed_at is null
on conflict (tenant_id, run_id, arm_id) do nothing
returning consent_id`),Yy=y("attempts.open",`
insert into ghouls.attempts (tenant_id, run_id, attempt_id, arm_id, call_key, status, service, adapter, adapter_version,
  service_digest, lookup, submit, cancel, delay_seconds, poll_seconds, heartbeat_seconds, request_text, stored_digest,
  request_digest, idempotency_key, deadline_at, next_look_at, created_at)
select a.tenant_id, a.run_id, $4, a.arm_id, json_build_array(a.epoch, a.scope, a.kind, a.name, a.nth)::text, 'DEFINED', $5, $6,
  $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, a.created_at + $19::double precision * interval '1 second',
  a.created_at + $20::double precision * interval '1 second', a.created_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.arm_id = $3 and a.closed_at is null
on conflict (tenant_id, run_id, arm_id) do nothing
returning attempt_id`);async function vu(t,e,{armId:n,consent:r,attempt:o},s){r!==void 0&&await Qy(t,e,n,r),o!==void 0&&await Xy(t,e,n,o,s.publisherGraceSeconds)}i(vu,"openOwner");async function Qy(t,e,n,r){await t.run(Vy,[e.tenantId,e.runId,n,r.consentId,r.title,r.requestText,r.storedDigest,r.requestDigest,r.deciders,r.quorum,r.requesterMayDecide,r.onExpiry,r.source])}i(Qy,"openConsent");async function Xy(t,e,n,r,o){let{traits:s}=r;await t.run(Yy,[e.tenantId,e.runId,n,r.attemptId,r.service,r.adapter,r.adapterVersion,r.serviceDigest,s.lookup,s.submit,s.cancel,s.delaySeconds,r.pollSeconds,r.heartbeatSeconds,r.requestText,r.storedDigest,r.requestDigest,r.idempotencyKey,r.deadlineSeconds,o])}i(Xy,"openAttempt");var Au=y("arms.open",`
with ${F(U)}, wanted as materialized (
  select q.* from unnest($6::uuid[], $7::integer[], $8::text[], $9::text[], $10::text[], $11::integer[], $12::text[],
    $13::timestamptz[], $14::integer[], $15::double precision[])
    as q(arm_id, epoch, scope, kind, name, nth, owner, due_at, tries, due_in)
)
insert into ghouls.arms as a (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, due_at, tries,
  created_at)
select held.tenant_id, held.run_id, w.arm_id, w.epoch, w.scope, w.kind, w.name, w.nth, w.owner, held.generation + 1, held.seq,
  coalesce(w.due_at, ghouls.clock() + w.due_in * interval '1 second'), w.tries, ghouls.clock()
from held cross join wanted w
where held.journal_length = $5
on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) where closed_at is null
do update set generation = excluded.generation,
  due_at = case when excluded.tries > a.tries then excluded.due_at else a.due_at end,
  tries = greatest(a.tries, excluded.tries)
returning a.arm_id`),Zy=y("arms.close-steps",`
update ghouls.arms a
set closed_at = ghouls.clock(), closing = 'step'
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null and a.kind = 'step' and a.generation < $3
returning a.arm_id`),e_=y("deliveries.park",`
with ${F(U)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'parked', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = $8, generation = run.generation + 1, losses = 0, idle_yields = 0
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.generation, run.status, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
), wait as (
  insert into ghouls.waits (tenant_id, run_id, generation, seq, opened_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, moved.settled_at
  from moved
  returning run_id
)
select moved.status
from moved
join checkpoint on checkpoint.run_id = moved.run_id
join wait on wait.run_id = moved.run_id`),t_=y("deliveries.continue",`
with ${F(U)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $8::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),n_=_("deliveries.parked",`
select d.outcome, run.status, next.seq, next.queue
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
left join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED'
  and d.outcome in ('parked', 'continued')`);async function Su(t,e,n,r,o){return t.transaction("deliveries.park",async s=>{await P(s,[e]);let a=await s.run(Au,[...xn(e),n.journalLength,...Ru(r)]);if(a.length!==r.length)return i_(s,e);let d=new Set(a.map(g=>h(g).text("arm_id")));for(let g of r)d.has(g.armId)&&await vu(s,e,g,o);let u=await bn(s,e),l=Math.max(...u.map(g=>g.generation));await s.run(Zy,[e.tenantId,e.runId,l]);let c=u.filter(g=>g.generation===l||g.call.kind!=="step"),m=r_(c,l,r);if(m!==void 0)throw new Cr(m.what,m);let f=[n.workflowDigest,n.journalLength,n.journalDigest],p=await pi(s,e);if(p.length===0){let g=ti(c.map(({owner:C})=>C)),[I]=await s.run(e_,[...xn(e),...f,g]);if(I===void 0)throw new TypeError("a run that is locked and held was not parked");return{kind:"parked",status:g,arms:c}}await hi(s,e,e.seq,p);let[w]=await s.run(t_,[...xn(e),...f,o.publisherGraceSeconds]);if(w===void 0)throw new TypeError("a run that is locked and held was not continued");return{kind:"continued",next:ot(w)}}).catch(s=>{if(s instanceof Cr)return{kind:"mismatch",...s.problem};throw s})}i(Su,"parkIfClaimed");async function Cu(t,e,n,r,o){return t.transaction("deliveries.yield-standing",async s=>{await P(s,[e]);let a=await s.run(Au,[...xn(e),n.journalLength,...Ru(r)]),d=await wr(s,e,n,o);if(d===null&&a.length>0)throw new TypeError("a run that is locked and held was not handed over");return d})}i(Cu,"yieldStandingIfClaimed");var Cr=class extends Error{static{i(this,"Mismatch")}problem;constructor(e,n){super(e),this.problem=n}};function r_(t,e,n){let r=t.find(o=>o.generation<e);if(r!==void 0)return{what:`${r.call.kind} "${r.call.name}" stands open, but the code does not ask for it any more`};for(let{call:o,consent:s,attempt:a}of n){let d=s??a,u=d&&t.find(l=>o_(l.call,o));if(u!==void 0&&u.requestDigest!==null&&u.requestDigest!==d?.requestDigest)return{what:`the ${o.kind} "${o.name}" was frozen with another request than the code asks for now`,key:j(o),ownerId:u.consentId??u.attemptId??""}}}i(r_,"mismatchOf");function o_(t,e){return t.epoch===e.epoch&&t.scope===e.scope&&t.kind===e.kind&&t.name===e.name&&t.nth===e.nth}i(o_,"sameCall");async function i_(t,e){let[n]=await t.run(n_,xn(e));if(n===void 0)return null;let r=h(n);return r.text("outcome")==="continued"?{kind:"continued",next:ot(n)}:{kind:"parked",status:r.text("status"),arms:await bn(t,e)}}i(i_,"answerOfEarlierTry");function Ru(t){return[t.map(({armId:e})=>e),t.map(({call:e})=>e.epoch),t.map(({call:e})=>e.scope),t.map(({call:e})=>e.kind),t.map(({call:e})=>e.name),t.map(({call:e})=>e.nth),t.map(({owner:e})=>e),t.map(({dueAt:e})=>e),t.map(({tries:e})=>e),t.map(({consent:e})=>e?.expiresInSeconds??null)]}i(Ru,"columnsOf");function xn(t){return[t.tenantId,t.runId,t.seq,t.token]}i(xn,"keyOf");var Gt="p.pause_id, p.scope, p.tenant_id, p.workflow, p.actor, p.reason, p.at",a_=y("pauses.set",`
insert into ghouls.pauses as p (pause_id, scope, tenant_id, workflow, actor, reason, at)
select q.pause_id, q.scope, q.tenant_id, q.workflow, coalesce(q.actor, 'database role ' || session_user), q.reason, ghouls.clock()
from unnest($1::text[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[])
  as q(tenant_id, workflow, scope, pause_id, actor, reason)
on conflict (coalesce(tenant_id, ''), coalesce(workflow, '')) where lifted_at is null do nothing
returning ${Gt}`),d_=_("pauses.of-target",`
select ${Gt}
from ghouls.pauses p
where ${Mt.tenant} = coalesce($1::text, '') and ${Mt.workflow} = coalesce($2::text, '') and p.lifted_at is null`),u_=_("pauses.of-tenant",`
select ${Gt}
from ghouls.pauses p
where p.lifted_at is null and ${Mt.tenant} = any(array[$1::text, ''])
order by p.at, p.pause_id`),l_=_("pauses.all",`
select ${Gt}
from ghouls.pauses p
where p.lifted_at is null
order by p.at, p.pause_id
limit $1`),c_=y("pauses.lift",`
update ghouls.pauses p
set lifted_at = ghouls.clock(), lifted_by = coalesce($2::text, 'database role ' || session_user), lift_reason = $3
where p.pause_id = $1 and p.lifted_at is null
returning ${Gt}`),m_=_("pauses.by-id",`
select ${Gt}
from ghouls.pauses p
where p.pause_id = $1`);async function $u(t,e){let{pauseId:n,scope:r,tenantId:o,workflow:s,actor:a,reason:d}=e;for(let u=0;u<5;u+=1){let l=[o,s,r,n,a,d].map(f=>[f]),[c]=await t.run(a_,l);if(c!==void 0)return{created:!0,pause:Ft(c)};let m=await Pi(t,e);if(m!==null)return{created:m.pauseId===n,pause:m}}throw new b("ledger_unavailable","the pause is lifted as fast as it is set; nothing was written",{fix:"Set it again.",retryAfterSeconds:1})}i($u,"setPause");async function Pi(t,{tenantId:e,workflow:n}){let[r]=await t.run(d_,[e,n]);return r===void 0?null:Ft(r)}i(Pi,"findPause");async function Du(t,e){return(await t.run(u_,[e])).map(Ft)}i(Du,"readPausesOfTenant");async function Ou(t,e){return(await t.run(l_,[e])).map(Ft)}i(Ou,"readPauses");async function qi(t,e){let[n]=await t.run(m_,[e]);return n===void 0?null:Ft(n)}i(qi,"readPause");async function Nu(t,e,n){let[r]=await t.run(c_,[e,n.actor,n.reason]);if(r!==void 0)return{lifted:!0,pause:Ft(r)};let o=await qi(t,e);return o===null?null:{lifted:!1,pause:o}}i(Nu,"liftPause");function Ft(t){let e=h(t);return{pauseId:e.text("pause_id"),scope:e.text("scope"),tenantId:e.textOrNull("tenant_id"),workflow:e.textOrNull("workflow"),by:e.text("actor"),reason:e.text("reason"),at:e.date("at")}}i(Ft,"pauseOf");var p_=y("runs.pause",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.paused_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)
update ghouls.runs run
set paused_at = ghouls.clock(), paused_by = $3, pause_reason = $4
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and r.paused_at is null and r.status in (${E(Le)})
returning run.status`),h_=y("runs.unpause",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.paused_at is not null
  for update
), due as (
  update ghouls.deliveries d
  set next_publication_at = greatest(d.due_at, ghouls.clock())
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status = 'PENDING'
  returning d.tenant_id, d.run_id, d.seq, d.queue, d.due_at
), unpaused as (
  update ghouls.runs run
  set paused_at = null, paused_by = null, pause_reason = null, workflow_absent_since = null
  from r
  where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  returning run.tenant_id, run.run_id, run.workflow_name, run.status, run.quarantined_at, run.paused_at
)
select run.status, due.seq, due.queue,
  due.due_at <= ghouls.clock() and run.quarantined_at is null and not ${it("run")} as goes_on
from unpaused run
left join due on due.tenant_id = run.tenant_id and due.run_id = run.run_id`);async function Pu(t,e,n){return t.transaction("runs.pause",async r=>{let o=(await P(r,[e])).get(e.runId);if(o===void 0)return null;let[s]=await r.run(p_,[e.tenantId,e.runId,n.actor,n.reason]);return s===void 0?{paused:!1,status:o}:(await we(r,e,{...n,act:"pause",subject:"run"}),{paused:!0,status:o})})}i(Pu,"pauseRun");async function qu(t,e,n){return t.transaction("runs.unpause",async r=>{let o=(await P(r,[e])).get(e.runId);if(o===void 0)return null;let[s]=await r.run(h_,[e.tenantId,e.runId]);if(s===void 0)return{unpaused:!1,status:o,resumption:null};await we(r,e,{...n,act:"unpause",subject:"run"});let a=h(s),[d,u]=[a.numberOrNull("seq"),a.textOrNull("queue")],l=d!==null&&u!==null&&a.boolean("goes_on"),{tenantId:c,runId:m}=e;return{unpaused:!0,status:o,resumption:l?{tenantId:c,runId:m,enqueueSeq:d,queue:u}:null}})}i(qu,"unpauseRun");var y_=_("runs.open-of-pins",`
select run.workflow_name, run.workflow_version, run.workflow_digest, count(*)::integer as runs
from ghouls.runs run
where run.tenant_id = $1 and run.status in (${E(ve)})
  and (run.workflow_name, run.workflow_version, run.workflow_digest) in (
    select q.name, q.version, q.digest
    from unnest($2::text[], $3::integer[], $4::text[]) as q(name, version, digest))
group by run.workflow_name, run.workflow_version, run.workflow_digest`);async function Lu(t,e,n){return n.length===0?[]:(await t.run(y_,[e,...w_(n)])).map(o=>({...Mu(o),runs:h(o).number("runs")}))}i(Lu,"countOpenRunsOfPins");var __=_("runs.stranded",`
with stranded as materialized (
  select run.run_id, run.status, run.workflow_name, run.workflow_version, run.workflow_digest, run.created_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.status in (${E(ve.filter(t=>!G.includes(t)))})
    and (run.workflow_name, run.workflow_digest) not in (
      select q.name, q.digest
      from unnest($2::text[], $3::text[]) as q(name, digest))
)
select s.run_id, s.status, s.workflow_name, s.workflow_version, s.workflow_digest, count(*) over ()::integer as runs
from stranded s
order by s.created_at desc, s.run_id desc
limit $4`);async function Tu(t,e,n,r){let o=await t.run(__,[e,n.map(({name:a})=>a),n.map(({digest:a})=>a),r]),[s]=o;return{runs:o.map(a=>({runId:h(a).text("run_id"),status:h(a).text("status"),workflow:Mu(a)})),count:s===void 0?0:h(s).number("runs")}}i(Tu,"readStrandedRuns");function w_(t){return[t.map(e=>e.name),t.map(e=>e.version),t.map(e=>e.digest)]}i(w_,"columnsOf");function Mu(t){let e=h(t);return{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")}}i(Mu,"pinOf");var b_=_("deliveries.due-publications",`
select due.tenant_id, due.run_id, due.seq, due.queue, due.publications
from generate_series(9, 0, -1) as p(priority)
cross join lateral (
  select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, d.next_publication_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at <= ghouls.clock()
    and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.quarantined_at is null and ${jt("run")})
      or (d.cause = 'contain' and run.status in (${E(G)})
        and (run.quarantined_at is null or run.status = 'CANCELLING')))
  order by d.next_publication_at
  limit $1
) as due
order by due.priority desc, due.next_publication_at
limit $1`),x_=y("deliveries.mark-published",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[]) as q(tenant_id, run_id, seq)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set publications = d.publications + 1, publication_failures = 0, publication_error = null,
  published_at = coalesce(d.published_at, ghouls.clock()),
  next_publication_at = greatest(ghouls.clock(), d.due_at) + case
    when d.status = 'PENDING' and d.cause <> 'contain' and exists (
      select from ghouls.runs run
      where run.tenant_id = d.tenant_id and run.run_id = d.run_id and ${it("run")})
    then interval '0 seconds'
    else ($4::double precision[])[least(d.publications + 1, cardinality($4::double precision[]))] * interval '1 second' end
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq
returning d.run_id`),E_=y("deliveries.mark-publication-failed",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq, q.reason
  from unnest($1::text[], $2::uuid[], $3::integer[], $5::text[]) as q(tenant_id, run_id, seq, reason)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d skip locked
)
update ghouls.deliveries d
set publication_failures = d.publication_failures + 1, publication_error = marked.reason,
  next_publication_at = ghouls.clock()
    + ($4::double precision[])[least(d.publication_failures + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq and d.status = 'PENDING'
returning d.run_id, d.publication_failures`),I_=y("deliveries.mark-skipped-as-paused",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
  join ghouls.runs run on run.run_id = q.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set next_publication_at = least(d.next_publication_at, greatest(d.due_at, ghouls.clock()))
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq and d.status = 'PENDING'
returning d.run_id`);async function ju(t,e){return(await t.run(b_,[e])).map(r=>{let o=h(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),enqueueSeq:o.number("seq"),queue:o.text("queue"),publications:o.number("publications")}})}i(ju,"readDuePublications");async function zu(t,e,n=Vn.afterSuccess){return e.length===0?0:(await t.run(x_,[...Uu(e),n])).length}i(zu,"markPublished");async function Gu(t,e,n=Vn.afterFailure){if(e.length===0)return 0;let r=e.map(s=>s.publication),o=e.map(s=>s.reason.slice(0,500).replaceAll("\0",""));return(await t.run(E_,[...Uu(r),n,o])).length}i(Gu,"markPublicationFailed");async function Fu(t,e){if(e.length===0)return 0;let n=[e.map(({runId:r})=>r),e.map(({enqueueSeq:r})=>r)];return(await t.run(I_,n)).length}i(Fu,"markSkippedAsPaused");function Uu(t){return[t.map(e=>e.tenantId),t.map(e=>e.runId),t.map(e=>e.enqueueSeq)]}i(Uu,"arrays");var A_=y("runs.clear-quarantine",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.quarantined_at is not null
  for update
), due as (
  update ghouls.deliveries d
  set next_publication_at = greatest(d.due_at, ghouls.clock())
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status = 'PENDING'
  returning d.tenant_id, d.run_id, d.seq, d.queue
)
update ghouls.runs run
set quarantined_at = null, quarantine_reason = null
from r
left join due on due.tenant_id = r.tenant_id and due.run_id = r.run_id
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
returning run.status, due.seq, due.queue`),S_=y("runs.contain-again",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${E(G)}) and ${cr}
  for update
), due as (
  update ghouls.containment_items i
  set next_look_at = ghouls.clock()
  from r
  where i.tenant_id = r.tenant_id and i.run_id = r.run_id and i.kind in ('effect', 'undo') and i.acknowledged_at is null
  returning i.tenant_id, i.run_id
), delivery_due as (
  update ghouls.deliveries d
  set due_at = ghouls.clock(), next_publication_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.cause = 'contain' and d.status = 'PENDING'
  returning d.run_id
)
update ghouls.runs run
set contain_from = ghouls.clock(), attention_reason = null, attention_at = null
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and exists (select from due) and (select count(*) from delivery_due) >= 0
returning run.status`);async function Wu(t,e,n,r){return t.transaction("runs.clear-quarantine",async o=>{let s=(await P(o,[e])).get(e.runId);if(s===void 0)return null;let[a]=await o.run(A_,[e.tenantId,e.runId]);if(a===void 0){let p=(await o.run(S_,[e.tenantId,e.runId])).length===1;return p&&await we(o,e,{...n,act:"clear",subject:"containment"}),{cleared:p,status:s,resumption:null}}await we(o,e,{...n,act:"clear",subject:"quarantine"});let d=await re(o,e);if(d!==null)return{cleared:!0,status:d,resumption:null};let u=await Oe(o,e,r);if(u!==null)return{cleared:!0,status:"QUEUED",resumption:u};let l=h(a),[c,m]=[l.numberOrNull("seq"),l.textOrNull("queue")],f=c===null||m===null?null:{...e,enqueueSeq:c,queue:m};return{cleared:!0,status:l.text("status"),resumption:f}})}i(Wu,"clearRun");var R_=E(ye("run")),Li=["FAILED","CANCELLED"],Bu=i((t,e)=>`${t}.epoch = ${e}.epoch and ${t}.scope = ${e}.scope and ${t}.kind = ${e}.kind and ${t}.name = ${e}.name and ${t}.nth = ${e}.nth`,"sameCall"),$_=i(t=>`(exists (
      select from ghouls.intents x
      where x.tenant_id = ${t}.tenant_id and x.run_id = ${t}.run_id and (x.outcome is null or x.outcome in ('happened', 'resolved')))
    or exists (
      select from ghouls.journal x
      where x.tenant_id = ${t}.tenant_id and x.run_id = ${t}.run_id and x.kind = 'transaction' and x.outcome = 'ok')
    or exists (
      select from ghouls.attempts x
      where x.tenant_id = ${t}.tenant_id and x.run_id = ${t}.run_id and x.status not in ('FAILED', 'CANCELLED'))
    or exists (
      select from ghouls.runs x
      where x.tenant_id = ${t}.tenant_id and x.parent_run_id = ${t}.run_id))`,"acted"),D_=`(select u.name
    from ghouls.steps_to_undo u
    where u.tenant_id = r.tenant_id and u.run_id = r.run_id
    order by u.name limit 1)`,O_=_("redrives.judge",`
with r as materialized (
  select run.tenant_id, run.run_id, run.epoch, run.journal_start, run.journal_length, run.parent_run_id,
    run.quarantined_at is not null as quarantined, run.input_text is null as input_gone
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
), failed_call as materialized (
  select distinct a.epoch, a.scope, a.kind, a.name, a.nth
  from r
  join ghouls.arms a on a.tenant_id = r.tenant_id and a.run_id = r.run_id and a.epoch = r.epoch
  left join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
  left join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
  where t.status in ('FAILED', 'CANCELLED') or child.status in ('FAILED', 'CANCELLED')
), entry as materialized (
  select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome,
    j.result_text is null and j.result_digest is not null as emptied,
    j.outcome = 'error' or (j.kind = 'reserve' and j.result_text = $3) or failed_call.kind is not null as failed
  from r
  join ghouls.journal j on j.tenant_id = r.tenant_id and j.run_id = r.run_id and j.ordinal > r.journal_start
  left join failed_call on ${Bu("failed_call","j")}
), cut as materialized (
  select coalesce((select min(entry.ordinal) from entry where entry.failed), r.journal_length + 1) as ordinal
  from r
), kept as materialized (
  select entry.* from entry join cut on entry.ordinal < cut.ordinal
), resolved as materialized (
  select i.epoch, i.scope, i.kind, i.name, i.nth, i.outcome, item.acknowledged_by, item.acknowledgement
  from r
  join ghouls.intents i on i.tenant_id = r.tenant_id and i.run_id = r.run_id
  left join ghouls.containment_items item
    on item.tenant_id = i.tenant_id and item.run_id = i.run_id and item.kind = 'effect' and item.key = ${Me}
), done as materialized (
  select i.epoch, i.scope, i.kind, i.name, i.nth
  from resolved i
  where i.outcome = 'happened'
    or (i.outcome = 'resolved' and i.acknowledged_by = 'probe' and i.acknowledgement = 'it has happened')
  union all
  select entry.epoch, entry.scope, entry.kind, entry.name, entry.nth
  from entry
  where entry.kind = 'transaction' and entry.outcome = 'ok'
  union all
  select a.epoch, a.scope, a.kind, a.name, a.nth
  from r
  join ghouls.arms a on a.tenant_id = r.tenant_id and a.run_id = r.run_id
  join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
  where t.status = 'SUCCEEDED'
  union all
  select a.epoch, a.scope, a.kind, a.name, a.nth
  from r
  join ghouls.arms a on a.tenant_id = r.tenant_id and a.run_id = r.run_id
  join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
  where child.status = 'DONE' or ${$_("child")}
)
select r.parent_run_id, r.quarantined, r.input_gone, cut.ordinal as cut,
  (select entry.kind from entry where entry.ordinal = cut.ordinal) as cut_kind,
  (select entry.name from entry where entry.ordinal = cut.ordinal) as cut_name,
  (select count(*) from kept)::integer as entries,
  cut.ordinal - r.journal_start - 1 <> (select count(*) from kept)
    or exists (select from kept where kept.emptied) as journal_gone,
  (select i.name from resolved i
    where i.outcome is null or (i.outcome = 'resolved' and i.acknowledged_by is distinct from 'probe')
    order by i.name limit 1) as unknown_effect,
  (select a.name
    from ghouls.attempts t
    join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
    where t.tenant_id = r.tenant_id and t.run_id = r.run_id
      and (t.status not in (${E(ae)}) or t.contradiction is not null or starts_with(t.closed_by, 'operator'))
    order by a.name limit 1) as unknown_job,
  (select child.run_id
    from ghouls.runs child
    where child.tenant_id = r.tenant_id and child.parent_run_id = r.run_id and child.status not in (${R_})
    order by child.run_id limit 1) as open_child,
  ${D_} as undone_step,
  (select done.name from done
    where done.epoch = r.epoch and not exists (select from kept where ${Bu("kept","done")})
    order by done.name limit 1) as done_behind,
  next.run_id as redriven_as, next.status as redriven_status,
  exists (
    select from ghouls.audit word
    where word.tenant_id = r.tenant_id and word.run_id = r.run_id and word.act = 'redrive' and word.actor = $4 and word.reason = $5) as same_word
from r
cross join cut
left join ghouls.runs next on next.tenant_id = r.tenant_id and next.redrive_of = r.run_id`),Ku=["not_ended","quarantined","child_run","child_open","effect_unknown","job_unknown","undone","body_gone","done_behind"],N_=JSON.stringify({outcome:"UNAVAILABLE"});async function Hu(t,e,n,r){let[o]=await t.run(O_,[e.tenantId,e.runId,N_,r.actor,r.reason]),s=h(o??{}),a=s.textOrNull("redriven_as");if(a!==null){let g=s.text("redriven_status");return{kind:"redriven_before",runId:a,status:g,sameWord:s.boolean("same_word")}}let d=s.textOrNull("parent_run_id"),u=s.textOrNull("open_child"),[l,c]=[s.textOrNull("unknown_effect"),s.textOrNull("unknown_job")],[m,f]=[s.textOrNull("undone_step"),s.textOrNull("done_behind")],p=i((g,I=null)=>({kind:"refused",why:g,about:I}),"refused");if(!Li.includes(n))return p("not_ended",n);if(s.boolean("quarantined"))return p("quarantined");if(d!==null)return p("child_run",d);if(u!==null)return p("child_open",u);if(l!==null)return p("effect_unknown",l);if(c!==null)return p("job_unknown",c);if(m!==null)return p("undone",m);if(s.boolean("input_gone"))return p("body_gone","its input");if(s.boolean("journal_gone"))return p("body_gone","its journal");if(f!==null)return p("done_behind",f);let w=s.textOrNull("cut_kind");return{kind:"cut",ordinal:s.number("cut"),entries:s.number("entries"),call:w===null?null:{kind:w,name:s.text("cut_name")}}}i(Hu,"judgeRedrive");var P_=y("redrives.make",`
with old as materialized (
  select run.*
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${E(Li)}) and run.quarantined_at is null
  for update
), kept as materialized (
  select j.*, j.ordinal - old.journal_start as place
  from old
  join ghouls.journal j on j.tenant_id = old.tenant_id and j.run_id = old.run_id and j.ordinal > old.journal_start and j.ordinal < $4
), made as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, redrive_of, request_digest, workflow_name, workflow_version,
    workflow_digest, queue, priority, agent, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest,
    input_stored_for, deadline_at, created_at, starts_at, on_worker_loss, epoch, journal_length, journal_bytes)
  select old.tenant_id, $3, old.first_run_id, old.run_id, old.request_digest, old.workflow_name, $5, $6, old.queue, old.priority,
    old.agent, $7, array(select jsonb_array_elements_text($8::text::jsonb)), 'QUEUED', 1, old.input_text, old.input_digest,
    coalesce(old.input_stored_for, old.run_id), ghouls.clock() + $9::double precision * interval '1 millisecond', ghouls.clock(),
    coalesce(old.starts_at, old.created_at), $10, old.epoch, (select count(*) from kept),
    (select coalesce(sum(octet_length(kept.result_text)), 0) from kept)
  from old
  returning tenant_id, run_id, enqueue_seq, queue, priority, created_at
), delivery as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
  select made.tenant_id, made.run_id, made.enqueue_seq, 'admitted', 'PENDING', made.queue, made.priority, made.created_at,
    made.created_at + $11::double precision * interval '1 second', made.created_at
  from made
  returning tenant_id, run_id, seq, queue
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at, stored_for)
  select delivery.tenant_id, delivery.run_id, kept.place, kept.epoch, kept.scope, kept.kind, kept.name, kept.nth, kept.outcome,
    kept.result_text, kept.result_digest, kept.tries, delivery.seq, kept.token, kept.started_at, kept.completed_at,
    coalesce(kept.stored_for, kept.run_id)
  from delivery
  join kept on kept.tenant_id = delivery.tenant_id
  returning run_id
)
select delivery.seq, delivery.queue, (select count(*) from entry)::integer as entries
from delivery`);async function Ju(t,e,n,r){return t.transaction("redrives.make",async o=>{let s=(await P(o,[e])).get(e.runId);if(s===void 0)return null;let a={actor:n.requestedBy,reason:n.reason},d=await Hu(o,e,s,a);if(d.kind!=="cut")return d;let[u]=await o.run(P_,[e.tenantId,e.runId,n.runId,d.ordinal,n.workflow.version,n.workflow.digest,n.requestedBy,JSON.stringify(n.requestedRoles),n.deadlineMs,n.onWorkerLoss,r.publisherGraceSeconds]);await we(o,e,{...a,act:"redrive",subject:`run ${n.runId}`});let l=h(u??{});return{kind:"redriven",enqueueSeq:l.number("seq"),queue:l.text("queue"),cut:d}})}i(Ju,"redriveRun");var Qu=`run.tenant_id, run.run_id, run.parent_run_id, run.idempotency_key, run.workflow_name, run.workflow_version, run.workflow_digest,
  run.queue, run.priority, run.agent, run.requested_by, run.status, run.enqueue_seq, run.journal_length, run.error_code,
  run.attention_reason, run.attention_at, run.quarantine_reason, run.quarantined_at, run.paused_at, run.paused_by, run.pause_reason, run.deadline_at, run.starts_at,
  run.created_at, run.started_at, run.finished_at, run.redrive_of, (
    select next.run_id from ghouls.runs next
    where next.tenant_id = run.tenant_id and next.redrive_of = run.run_id) as redriven_as`,L_=_("runs.get",`
select ${Qu}, run.request_digest, run.input_text, run.input_digest,
  coalesce(run.input_stored_for, run.run_id) as input_stored_for, run.output_text, run.error_text
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),Xu=`
where run.tenant_id = $1
  and (run.created_at, run.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)`,Mi=`
order by run.created_at desc, run.run_id desc
limit $4`,Zu=`${Qu}, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`,Ti=i((t,e)=>_(`runs.page-${t}`,`
select ${Zu}
from ghouls.runs run${Xu}
  ${e}${Mi}`),"page"),Vu=i((t,e)=>_(`runs.page-${t}`,`
select ${Zu}
from (select distinct q.status from unnest($5::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run${Xu}
  and run.status = wanted.status ${e}${Mi}
) as run${Mi}`),"pageOfStatuses"),En={all:Ti("all",""),status:Vu("status",""),workflow:Ti("workflow","and run.workflow_name = $5"),both:Vu("status-workflow","and run.workflow_name = $6"),attention:Ti("attention","and (run.attention_at is not null or run.quarantined_at is not null)")},T_=_("deliveries.of-run",`
select d.seq, d.cause, d.status, d.outcome, d.due_at, d.hold_expires_at, d.publications, d.published_at, d.claimed_by,
  d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end, d.created_at, d.settled_at, d.fenced_at
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2
order by d.seq`);async function el(t,e){let[n]=await t.run(L_,[e.tenantId,e.runId]);if(n===void 0)return null;let r=h(n);return{...rl(r),requestDigest:r.text("request_digest"),inputText:r.textOrNull("input_text"),inputDigest:r.text("input_digest"),inputStoredFor:r.text("input_stored_for"),outputText:r.textOrNull("output_text"),errorText:r.textOrNull("error_text")}}i(el,"readRun");async function tl(t,e,n,r){let[o,s]=r.cursor===void 0?ji:Gi(r.cursor),[a,d]=M_(n),u=await t.run(a,[e,o,s,r.limit+1,...d]),l=u.slice(0,r.limit),c=l.at(-1);return{runs:l.map(m=>rl(h(m))),nextCursor:u.length>r.limit&&c!==void 0?zi(c):null}}i(tl,"readRunPage");function M_(t){let{status:e,workflow:n,attention:r}=t;if(r===!0){if(e!==void 0||n!==void 0)throw new b("invalid_request","the attention filter does not combine with others yet",{fix:"Ask with attention alone, and choose among what comes back."});return[En.attention,[]]}return e!==void 0&&n!==void 0?[En.both,[e,n]]:e!==void 0?[En.status,[e]]:n!==void 0?[En.workflow,[n]]:[En.all,[]]}i(M_,"choose");var ji=["100000000000000000","ffffffff-ffff-ffff-ffff-ffffffffffff"];function zi(t){return`${h(t).text("created_micros")}.${h(t).text("run_id")}`}i(zi,"cursorOf");function Gi(t){let e=/^(\d{1,17})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(t);if(e===null)throw new b("invalid_request","this cursor is not one of ours",{fix:"Pass nextCursor of the page before unchanged, or leave it out for the first page."});return[e[1],e[2]]}i(Gi,"parseCursor");async function nl(t,e){return(await t.run(T_,[e.tenantId,e.runId])).map(r=>{let o=h(r);return{seq:o.number("seq"),cause:o.text("cause"),status:o.text("status"),outcome:o.textOrNull("outcome"),dueAt:o.date("due_at"),createdAt:o.date("created_at"),publishedAt:o.dateOrNull("published_at"),publications:o.number("publications"),claimedAt:o.dateOrNull("claimed_at"),claimedBy:o.textOrNull("claimed_by"),leaseUntil:o.dateOrNull("lease_until"),workerEndedAt:o.dateOrNull("worker_ended_at"),workerEnd:o.textOrNull("worker_end"),settledAt:o.dateOrNull("settled_at"),fencedAt:o.dateOrNull("fenced_at"),holdExpiresAt:o.dateOrNull("hold_expires_at")}})}i(nl,"readDeliveries");function rl(t){return{tenantId:t.text("tenant_id"),runId:t.text("run_id"),parentRunId:t.textOrNull("parent_run_id"),redriveOf:t.textOrNull("redrive_of"),redrivenAs:t.textOrNull("redriven_as"),idempotencyKey:t.textOrNull("idempotency_key"),workflow:{name:t.text("workflow_name"),version:t.number("workflow_version"),digest:t.text("workflow_digest")},queue:t.text("queue"),priority:t.number("priority"),agent:t.textOrNull("agent"),requestedBy:t.text("requested_by"),status:t.text("status"),enqueueSeq:t.number("enqueue_seq"),journalLength:t.number("journal_length"),errorCode:t.textOrNull("error_code"),attention:Yu(t,"attention_reason","attention_at"),quarantine:Yu(t,"quarantine_reason","quarantined_at"),pause:j_(t),deadlineAt:t.dateOrNull("deadline_at"),createdAt:t.date("created_at"),startsAt:t.dateOrNull("starts_at"),startedAt:t.dateOrNull("started_at"),finishedAt:t.dateOrNull("finished_at")}}i(rl,"runOf");function Yu(t,e,n){let r=t.textOrNull(e),o=t.dateOrNull(n);return r===null||o===null?null:{reason:r,at:o}}i(Yu,"flag");function j_(t){let e=t.dateOrNull("paused_at");return e===null?null:{by:t.textOrNull("paused_by")??"unknown",reason:t.textOrNull("pause_reason")??"",at:e}}i(j_,"pauseOf");var ol="run.run_id, run.status, run.workflow_name, run.created_at, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros",il=`run.tenant_id = $1
    and (run.created_at, run.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)
    and run.created_at < $6::timestamptz and run.created_at >= $7::timestamptz
    and ($8::text is null or run.workflow_name = $8)
    and (not $9::boolean or run.attention_at is not null or run.quarantined_at is not null)`,Fi=`order by run.created_at desc, run.run_id desc
limit $4`,G_=_("runs.matching",`
select ${ol}
from (select distinct q.status from unnest($5::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run
  where ${il}
    and run.status = wanted.status and run.status in (${E(ve)})
  ${Fi}
) as run
${Fi}`),F_=_("runs.matching-children",`
select ${ol}
from ghouls.runs run
where ${il}
    and run.status = any($5::text[]) and run.status in (${E(ve)}) and run.parent_run_id = $10::uuid
${Fi}`);async function sl(t,e,n,r){let[o,s]=r.cursor===void 0?ji:Gi(r.cursor),a=[e,o,s,r.limit+1,n.status??ve,n.before??W_,n.after??U_,n.workflow??null,n.attention??!1],{parentRunId:d}=n,u=await(d===void 0?t.run(G_,a):t.run(F_,[...a,d])),l=u.slice(0,r.limit),c=l.at(-1);return{runs:l.map(m=>({runId:h(m).text("run_id"),status:h(m).text("status"),workflow:h(m).text("workflow_name")})),nextCursor:u.length>r.limit&&c!==void 0?zi(c):null}}i(sl,"readMatchingRuns");var U_=new Date(0),W_=new Date("9999-12-31T00:00:00Z");var K_=z("run").filter(t=>t==="QUEUED"||t.startsWith("AWAITING_")&&t!=="AWAITING_HARDWARE"),H_=y("runs.repin",`
with r as materialized (
  select run.tenant_id, run.run_id, run.generation, run.enqueue_seq, run.workflow_absent_since
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${E(K_)})
    and run.quarantined_at is null and run.workflow_digest = $3 and run.workflow_digest <> $4
  for update
), checkpoint as (
  update ghouls.checkpoints c
  set workflow_digest = $4
  from r
  where c.tenant_id = r.tenant_id and c.run_id = r.run_id and c.generation = r.generation
  returning c.run_id
), due as (
  update ghouls.deliveries d
  set due_at = least(d.due_at, ghouls.clock()), next_publication_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq and d.status = 'PENDING'
    and r.workflow_absent_since is not null
  returning d.run_id
)
update ghouls.runs run
set workflow_digest = $4, workflow_absent_since = null
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from checkpoint) >= 0
  and (select count(*) from due) >= 0
returning run.run_id`),J_=_("runs.pin",`
select run.workflow_digest, run.quarantined_at is not null as quarantined
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`);async function al(t,e,n,r){return t.transaction("runs.repin",async o=>{let s=(await P(o,[e])).get(e.runId);if(s===void 0)return null;let{from:a,to:d}=n;if((await o.run(H_,[e.tenantId,e.runId,a,d])).length===0){let[l]=await o.run(J_,[e.tenantId,e.runId]),c=h(l??{});return{repinned:!1,status:s,digest:c.text("workflow_digest"),quarantined:c.boolean("quarantined")}}return await we(o,e,{...r,act:"repin",subject:`workflow ${a} to ${d}`}),{repinned:!0,status:s,digest:d,quarantined:!1}})}i(al,"repinRunIfUnclaimed");var Y_=y("runs.restart",`
with ${F(U)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), arms_closed as (
  update ghouls.arms a
  set closed_at = settled.settled_at, closing = 'restart'
  from settled
  where a.tenant_id = settled.tenant_id and a.run_id = settled.run_id and a.closed_at is null
  returning a.run_id
), consents_closed as (
  update ghouls.consents c
  set status = 'CANCELLED', closed_at = settled.settled_at, closed_by = 'the restart of its run'
  from settled
  where c.tenant_id = settled.tenant_id and c.run_id = settled.run_id and c.status = 'PENDING'
  returning c.run_id
), attempts_dropped as (
  update ghouls.attempts t
  set status = case when t.status = 'DEFINED' then 'CANCELLED' else t.status end,
    closed_at = case when t.status = 'DEFINED' then settled.settled_at end,
    closed_by = case when t.status = 'DEFINED' then 'the restart of its run' end,
    next_look_at = case when t.status = 'DEFINED' then null else settled.settled_at end, looks = 0,
    cancel_asked_at = coalesce(t.cancel_asked_at, settled.settled_at), cancel_reason = coalesce(t.cancel_reason, 'restart')
  from settled
  where t.tenant_id = settled.tenant_id and t.run_id = settled.run_id and t.status not in (${E(ae)})
  returning t.run_id
), child_items as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select child.tenant_id, child.parent_run_id, 'child', child.run_id::text, settled.seq, child.run_id, 'run ' || child.run_id,
    settled.settled_at, settled.settled_at
  from settled
  join ghouls.runs child on child.tenant_id = settled.tenant_id and child.parent_run_id = settled.run_id
  where child.parent_close <> 'abandon' and child.status not in (${E(ye("run"))})
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0,
    epoch = run.epoch + 1, journal_start = run.journal_length, journal_bytes = 0, input_text = $7, input_digest = $8,
    starts_at = settled.settled_at, open_items = run.open_items + (select count(*) from child_items)::integer
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id and run.epoch = $9
    and (select count(*) from arms_closed) >= 0 and (select count(*) from consents_closed) >= 0
    and (select count(*) from attempts_dropped) >= 0
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, run.journal_start, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, moved.journal_start, $6, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $10::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`);async function dl(t,e,n,r){let[o]=await t.run(Y_,[e.tenantId,e.runId,e.seq,e.token,n.workflowDigest,n.journalDigest,n.inputText,n.inputDigest,n.epoch,r.publisherGraceSeconds]);return o===void 0?kr(t,e,"continued"):ot(o)}i(dl,"restartIfClaimed");var X_=_("capacities.read",`
select c.name, c.units, c.said_at is not null as said
from ghouls.capacities c
where c.name = any($1::text[])`),ul=y("capacities.lock",`
select c.name
from ghouls.capacities c
where c.name = any($1::text[])
order by c.name
for update`),Z_=y("capacities.say",`
insert into ghouls.capacities as c (name, units, updated_at, said_at)
select q.name, q.units, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[]) as q(name, units)
order by q.name
on conflict (name) do update set units = excluded.units, said_at = excluded.said_at,
  updated_at = case when c.units = excluded.units then c.updated_at else excluded.updated_at end
where c.units <> excluded.units or c.said_at is null`),ew=y("capacities.add",`
insert into ghouls.capacities (name, units, updated_at)
select q.name, q.units, ghouls.clock()
from unnest($1::text[], $2::integer[]) as q(name, units)
order by q.name
on conflict (name) do nothing`);async function ll(t,e){let n=await ml(t,e),r=i(([s,a])=>n.get(s)?.units===a&&n.get(s)?.said===!0,"isSaid");if(Object.entries(e).every(r))return;let o=Object.keys(e);await t.transaction("capacities.say",async s=>{await s.run(ul,[o]),await s.run(Z_,[o,Object.values(e)])})}i(ll,"sayCapacities");async function cl(t,e){let n=await ml(t,e),r=Object.entries(e).filter(([o])=>!n.has(o));r.length!==0&&await t.run(ew,[r.map(([o])=>o),r.map(([,o])=>o)])}i(cl,"addCapacities");async function ml(t,e){let n=Object.keys(e);if(n.length===0)return new Map;let r=await t.run(X_,[n]);return new Map(r.map(o=>{let s=h(o);return[s.text("name"),{units:s.number("units"),said:s.boolean("said")}]}))}i(ml,"knownOf");async function fl(t,e){return(await t.run(ul,[[e]])).length===1}i(fl,"lockCapacity");var nw=60,In=i(t=>`${t}.tenant_id = held.tenant_id and ${t}.run_id = held.run_id and ${t}.epoch = $5
      and ${t}.scope = $6 and ${t}.name = $7 and ${t}.nth = $8`,"OF_CALL"),rw=y("reservations.take",`
with ${F(U)}, asked as materialized (
  select x.reservation_id, x.status
  from held
  join ghouls.reservations x on ${In("x")} and x.status in ('WAITING', 'HELD')
), since as materialized (
  select coalesce(min(x.asked_at), ghouls.clock()) as asked_at
  from held
  left join ghouls.reservations x on ${In("x")} and x.held_at is null
    and x.asked_at > coalesce((select max(h.held_at) from ghouls.reservations h where ${In("h")}), 'epoch')
), acting as materialized (
  select x.tenant_id, x.run_id, x.reservation_id, x.units, exists (
      select from ghouls.containment_items i
      where i.tenant_id = x.tenant_id and i.run_id = x.run_id and i.kind = 'worker' and i.key = x.seq::text
        and i.acknowledged_at is null) as acts
  from held
  join ghouls.reservations x on x.capacity = $9 and x.status = 'LEFT'
), ended as (
  update ghouls.reservations x
  set status = 'RELEASED', released_at = ghouls.clock()
  from acting
  where x.tenant_id = acting.tenant_id and x.run_id = acting.run_id and x.reservation_id = acting.reservation_id and not acting.acts
  returning x.run_id
), free as materialized (
  select c.units as all_units, c.units
    - (select coalesce(sum(x.units), 0) from ghouls.reservations x where x.capacity = $9 and x.status = 'HELD')
    - (select coalesce(sum(a.units), 0) from acting a where a.acts) as units
  from ghouls.capacities c
  where c.name = $9
), judged as materialized (
  select held.tenant_id, held.run_id, held.seq, held.token, held.journal_length, since.asked_at, asked.status as stood,
    coalesce(asked.reservation_id, $12::uuid) as reservation_id, free.all_units,
    case
      when not $13::boolean and exists (select from ghouls.journal x where ${In("x")} and x.kind = 'reserve') then 'said'
      when asked.status = 'HELD' then 'held'
      when free.units >= $10::integer and not exists (
        select from ghouls.reservations x
        join ghouls.deliveries d on d.tenant_id = x.tenant_id and d.run_id = x.run_id and d.seq = x.seq
        where x.capacity = $9 and x.status in ('WAITING', 'AWAY') and x.run_id <> held.run_id and x.units + x.inside <= free.all_units
          and (x.asked_at, x.reservation_id) < (since.asked_at, coalesce(asked.reservation_id, $12::uuid))
          and case x.status
            when 'AWAY' then x.left_at > ghouls.clock() - ${nw} * interval '1 second'
            else d.status = 'CLAIMED' and d.lease_until >= ghouls.clock()
          end) then 'taken'
      when not $13::boolean and since.asked_at + $11::double precision * interval '1 second' <= ghouls.clock() then 'over'
      else 'waits'
    end as answer
  from held
  cross join since
  cross join free
  left join asked on true
), changed as (
  update ghouls.reservations x
  set status = case judged.answer when 'taken' then 'HELD' else 'RELEASED' end,
    holder = case judged.answer when 'taken' then judged.run_id end,
    held_at = case judged.answer when 'taken' then ghouls.clock() end,
    released_at = case judged.answer when 'over' then ghouls.clock() end
  from judged
  where x.tenant_id = judged.tenant_id and x.run_id = judged.run_id and x.reservation_id = judged.reservation_id
    and judged.stood = 'WAITING' and judged.answer in ('taken', 'over')
  returning x.run_id
), back as (
  update ghouls.reservations x
  set status = 'RELEASED', released_at = ghouls.clock()
  from held
  where ${In("x")} and x.status = 'AWAY'
  returning x.run_id
), made as (
  insert into ghouls.reservations (tenant_id, run_id, reservation_id, epoch, scope, name, nth, capacity, units, inside, seq, token, holder,
    status, asked_at, held_at)
  select judged.tenant_id, judged.run_id, judged.reservation_id, $5, $6, $7, $8, $9, $10, $18, judged.seq, judged.token, judged.run_id,
    case judged.answer when 'taken' then 'HELD' else 'WAITING' end, judged.asked_at,
    case judged.answer when 'taken' then ghouls.clock() end
  from judged
  where judged.stood is null and judged.answer in ('taken', 'waits')
  returning run_id
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at)
  select judged.tenant_id, judged.run_id, judged.journal_length + 1, $5, $6, 'reserve', $7, $8, 'ok',
    case judged.answer when 'taken' then $14 else $16 end, case judged.answer when 'taken' then $15 else $17 end,
    1, judged.seq, judged.token, date_trunc('milliseconds', judged.asked_at), date_trunc('milliseconds', ghouls.clock())
  from judged
  where judged.answer = 'over' or (judged.answer = 'taken' and not $13::boolean)
  returning run_id, ordinal, completed_at, octet_length(result_text) as bytes
), moved as (
  update ghouls.runs run
  set reservations = run.reservations + (select count(*) from made)::integer,
    journal_length = coalesce(entry.ordinal, run.journal_length),
    journal_bytes = run.journal_bytes + coalesce(entry.bytes, 0),
    losses = case when entry.ordinal is null then run.losses else 0 end,
    idle_yields = case when entry.ordinal is null then run.idle_yields else 0 end,
    status = case when judged.answer = 'waits' or exists (
        select from ghouls.reservations x
        where x.tenant_id = run.tenant_id and x.holder = run.run_id and x.status = 'WAITING'
          and x.reservation_id <> judged.reservation_id) then 'AWAITING_HARDWARE' else 'RUNNING' end
  from judged
  left join entry on entry.run_id = judged.run_id
  where run.tenant_id = judged.tenant_id and run.run_id = judged.run_id and judged.answer in ('taken', 'over', 'waits')
    and (judged.answer <> 'waits' or judged.stood is null)
  returning run.run_id
)
select judged.answer, judged.asked_at, extract(epoch from ghouls.clock() - judged.asked_at)::double precision as waited,
  judged.all_units, entry.ordinal, entry.completed_at
from judged
left join entry on entry.run_id = judged.run_id
where (select count(*) from ended) >= 0 and (select count(*) from back) >= 0 and (select count(*) from changed) >= 0 and (select count(*) from moved) >= 0`),ow=_("reservations.said",`
select j.ordinal, j.completed_at, j.result_digest = $8 as reserved
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = 'reserve' and j.name = $5
  and j.nth = $6 and j.token = $7::uuid`);async function pl(t,e,n){let{call:r,capacity:o,units:s,inside:a,waitSeconds:d,reservationId:u,retake:l,reserved:c,unavailable:m}=n;return t.transaction("reservations.take",async f=>{if(await P(f,[e]),!await fl(f,o))return{kind:"unknown_capacity"};let[p]=await f.run(rw,[e.tenantId,e.runId,e.seq,e.token,r.epoch,r.scope,r.name,r.nth,o,s,d,u,l,c.text,c.digest,m.text,m.digest,a]);if(p===void 0)return null;switch(h(p).text("answer")){case"said":return sw(f,e,n);case"waits":return iw(p);case"over":return{kind:"unavailable",entry:Ut(p)};default:return{kind:"held",entry:p.ordinal===null?null:Ut(p)}}})}i(pl,"takeIfClaimed");function iw(t){let e=h(t);return{kind:"waits",askedAt:e.date("asked_at"),waitedSeconds:e.number("waited"),allUnits:e.number("all_units")}}i(iw,"waiting");async function sw(t,e,{call:n,reserved:r}){let{tenantId:o,runId:s,token:a}=e,[d]=await t.run(ow,[o,s,n.epoch,n.scope,n.name,n.nth,a,r.digest]);return d===void 0?null:{kind:d.reserved===!0?"held":"unavailable",entry:Ut(d)}}i(sw,"answeredBefore");function Ut(t){let e=h(t);return{ordinal:e.number("ordinal"),completedAt:e.date("completed_at")}}i(Ut,"journaled");var dw=y("reservations.release",`
with ${F(U)}, released as (
  update ghouls.reservations x
  set status = 'RELEASED', holder = null, released_at = ghouls.clock()
  from held
  where x.tenant_id = held.tenant_id and x.run_id = held.run_id and x.epoch = $5 and x.scope = $6 and x.name = $7 and x.nth = $8
    and x.status = 'HELD' and x.token = held.token
  returning x.tenant_id, x.run_id, x.held_at
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, tries, seq, token, started_at,
    completed_at)
  select held.tenant_id, held.run_id, held.journal_length + 1, $5, $9, 'release', $7, $10, 'ok', 1, held.seq, held.token,
    date_trunc('milliseconds', coalesce(released.held_at, ghouls.clock())), date_trunc('milliseconds', ghouls.clock())
  from held
  left join released on released.tenant_id = held.tenant_id and released.run_id = held.run_id
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) do nothing
  returning tenant_id, run_id, ordinal, completed_at
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, losses = 0, idle_yields = 0
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id
)
select entry.ordinal, entry.completed_at from entry join counted on counted.run_id = entry.run_id`),uw=_("reservations.released",`
select j.ordinal, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = 'release' and j.name = $5
  and j.nth = $6 and j.token = $7::uuid`),lw=y("reservations.withdraw",`
with ${F(U)}, withdrawn as (
  update ghouls.reservations x
  set status = 'AWAY', holder = null, left_at = ghouls.clock()
  from held
  where x.tenant_id = held.tenant_id and x.holder = held.run_id and x.status = 'WAITING'
  returning x.run_id
)
update ghouls.runs run
set status = 'RUNNING'
from held
where run.tenant_id = held.tenant_id and run.run_id = held.run_id and (select count(*) from withdrawn) >= 0
returning run.run_id`);async function hl(t,e,n,r){let[o]=await t.run(dw,[e.tenantId,e.runId,e.seq,e.token,n.epoch,n.scope,n.name,n.nth,r.scope,r.nth]);if(o!==void 0)return Ut(o);let{tenantId:s,runId:a,token:d}=e,[u]=await t.run(uw,[s,a,r.epoch,r.scope,r.name,r.nth,d]);return u===void 0?null:Ut(u)}i(hl,"releaseIfClaimed");async function gl(t,e){return(await t.run(lw,[e.tenantId,e.runId,e.seq,e.token])).length===1}i(gl,"withdrawIfClaimed");var mw=_("reservations.of-run",`
select x.capacity, x.units, x.name, x.scope, x.status, x.asked_at, x.held_at
from ghouls.reservations x
where x.tenant_id = $1 and x.run_id = $2 and (x.status in ('WAITING', 'AWAY', 'HELD') or (x.status = 'LEFT' and exists (
  select from ghouls.containment_items i
  where i.tenant_id = x.tenant_id and i.run_id = x.run_id and i.kind = 'worker' and i.key = x.seq::text
    and i.acknowledged_at is null)))
order by x.asked_at, x.reservation_id`);async function yl(t,e){return(await t.run(mw,[e.tenantId,e.runId])).map(r=>{let o=h(r);return{capacity:o.text("capacity"),units:o.number("units"),name:o.text("name"),scope:o.text("scope"),status:o.text("status"),askedAt:o.date("asked_at"),heldAt:o.dateOrNull("held_at")}})}i(yl,"readReservations");var vn=1e3,pw=_("signals.by-key",`
select s.signal_id, s.request_digest
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and (s.idempotency_key = $3 or s.signal_id = $4::uuid)`),hw=_("signals.buffered",`
select count(*)::integer as buffered, count(*) filter (where s.name = $3)::integer as of_name,
  (select count(*) from ghouls.arms a
    where a.tenant_id = $1 and a.run_id = $2 and a.owner = 'signal' and a.name = $3 and a.closed_at is null)::integer as awaited
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and s.consumed_at is null`),gw=y("signals.keep",`
insert into ghouls.signals (tenant_id, run_id, signal_id, name, idempotency_key, request_digest, payload_text, payload_digest,
  sent_by, received_at)
select run.tenant_id, run.run_id, $3, $4, $5, $6, $7, $8, $9, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2
on conflict (tenant_id, run_id, idempotency_key) do nothing
returning signal_id`);async function _l(t,e,n){return t.transaction("signals.keep",async r=>{let{tenantId:o,runId:s,signalId:a,idempotencyKey:d}=e,u=(await P(r,[e])).get(s);if(u===void 0)return null;let[l]=await r.run(pw,[o,s,d,a]);if(l!==void 0){let m=h(l);return m.text("request_digest")!==e.requestDigest?{kind:"conflict"}:{kind:"kept",signalId:m.text("signal_id"),repeated:!0,resumption:null}}if(_e(u)||G.includes(u))return{kind:"ended",status:u};if(await yw(r,e))return{kind:"full"};await r.run(gw,[o,s,a,e.name,d,e.requestDigest,e.payloadText,e.payloadDigest,e.sentBy]);let c=await Oe(r,e,n.publisherGraceSeconds);return{kind:"kept",signalId:a,repeated:!1,resumption:c}})}i(_l,"keepSignal");async function yw(t,{tenantId:e,runId:n,name:r}){let[o]=await t.run(hw,[e,n,r]);if(o===void 0)return!1;let s=h(o);return s.number("buffered")>=vn&&s.number("of_name")>=s.number("awaited")}i(yw,"isFull");var ww=_("transactions.limit",`
select pg_current_xact_id()::text as xid, set_config('statement_timeout', $1::text, true) as statement_timeout,
  set_config('lock_timeout', $1::text, true) as lock_timeout,
  set_config('idle_in_transaction_session_timeout', $1::text, true) as idle_timeout`),kw=1e3;async function wl(t,e,n){if(!await t.turns.take(n))return null;let r=!0,o=i(()=>{r&&t.turns.give(),r=!1},"giveBack");try{let s=await t.begin("transactions",e+kw,o);try{return{open:s,xid:await Ui(s,e),rollback:i(a=>s.rollback(a),"rollback")}}catch(a){throw await s.rollback(),a}}catch(s){throw o(),s}}i(wl,"beginUserTransaction");async function Ui(t,e){let[n]=await t.run(ww,[String(Math.max(1,Math.ceil(e)))]);return h(n??{}).text("xid")}i(Ui,"limit");async function kl(t,{open:e},n){await Ui(e,n)}i(kl,"limitTransaction");async function bl(t,{open:e},n,r){return e.ask(n,r)}i(bl,"askInTransaction");async function xl(t,{open:e,xid:n},r,o,s){let a="limit";try{if(await Ui(e,s)!==n)return{kind:"left"};a="entry";let d=await Oi(e,r,o);return d===null?{kind:"fenced"}:(a="commit",await e.commit(),{kind:"committed",...d})}catch(d){let u=d instanceof T?d:bw(d);return a==="commit"&&(u.kind==="unknown"||u!==d)?{kind:"unknown",error:u}:{kind:"rolled_back",at:a,error:u}}finally{await e.rollback()}}i(xl,"commitEntryIfClaimed");function bw(t){return new T("unavailable","transactions",void 0,t)}i(bw,"lost");async function El(t,e,n){return t.transaction("transactions.read-back",async r=>(await P(r,[e]),Ni(r,e,n)))}i(El,"readEntryBack");var Ew=y("workflows.record",`
insert into ghouls.workflows (name, version, digest, build, first_seen_at, last_seen_at)
select q.name, q.version, q.digest, $4, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[]) as q(name, version, digest)
order by q.name, q.version, q.digest
on conflict (name, version, digest) do update set build = excluded.build, last_seen_at = excluded.last_seen_at`),Iw=_("workflows.build-of",`
select w.build
from ghouls.workflows w
where w.name = $1 and w.digest = $2
order by w.last_seen_at desc
limit 1`);async function Il(t,e,n){await t.run(Ew,[e.map(r=>r.name),e.map(r=>r.version),e.map(r=>r.digest),n])}i(Il,"recordWorkflows");async function vl(t,e){let[n]=await t.run(Iw,[e.name,e.digest]);return n===void 0?null:h(n).text("build")}i(vl,"readBuildOf");function x(t,e){return((...n)=>e(t,...n))}i(x,"bind");function oe(t,e,n){return(async(...r)=>(await e(),n(t,...r)))}i(oe,"opening");function Aw(t,e,n,r){return di(e,n,r)}i(Aw,"admitIn");function Al(t){let e=new lr(t),n=t.beforeOpening??(()=>Promise.resolve());return{schema:e.schema,runs:{admit:oe(e,n,di),admitIn:oe(e,n,Aw),byKey:x(e,Nt),byId:x(e,nr),get:x(e,el),page:x(e,tl),openOfPins:x(e,Lu),stranded:x(e,Tu),repinIfUnclaimed:x(e,al),raiseAttention:x(e,fr),quarantineIfClaimed:x(e,Va),adoptIfClaimed:x(e,md),clearAbsenceIfClaimed:x(e,cd),redrive:oe(e,n,Ju),cancel:oe(e,n,bi),matching:x(e,sl),clear:oe(e,n,Wu),pause:x(e,Pu),unpause:oe(e,n,qu),overdue:x(e,Nd),failOverdue:x(e,Pd),restartIfClaimed:x(e,dl),resume:oe(e,n,gi),resumeDue:x(e,gi)},deliveries:{releaseIfHeld:oe(e,n,ha),claimIfDue:oe(e,n,yu),unclaimed:x(e,_u),settleIfClaimed:x(e,Ha),duePublications:x(e,ju),markPublished:x(e,zu),markPublicationFailed:x(e,Gu),markSkippedAsPaused:oe(e,n,Fu),settleContainIfClaimed:x(e,Ja),beatIfClaimed:x(e,Ad),parkIfClaimed:x(e,Su),yieldStandingIfClaimed:x(e,Cu),beatOfWorker:x(e,vd),yieldIfClaimed:x(e,wr),giveBackIfClaimed:x(e,ld),wereGivenBack:x(e,qd),lapsed:x(e,uu),settleLost:x(e,lu),expiredHolds:x(e,Gd),expireHolds:x(e,Fd),recordWorkerEnd:oe(e,n,ku),ofRun:x(e,nl)},journal:{appendIfClaimed:x(e,bu),read:x(e,Eu)},transactions:{begin:x(e,wl),ask:x(e,bl),limit:x(e,kl),commitIfClaimed:x(e,xl),readBack:x(e,El)},checkpoints:{read:x(e,fd)},undos:{startIfClaimed:x(e,Jd),clearIfClaimed:x(e,Vd),ofRun:x(e,Yd)},intents:{openIfClaimed:x(e,Wd),closeIfClaimed:x(e,Bd),openOfRun:x(e,Kd),lastOfRun:x(e,Hd)},items:{ofRun:x(e,Xd),noteError:x(e,Qd),due:x(e,Zd),contain:x(e,Ri),containSooner:oe(e,n,Ri),acknowledge:oe(e,n,ki),acknowledgeWorker:oe(e,n,pd)},arms:{openOfRun:x(e,bn),retriesOfRun:x(e,Cd),runOf:x(e,Qa),due:x(e,Xa)},consents:{get:x(e,Er),page:x(e,Dd),decisions:x(e,Ei),decide:oe(e,n,$d),toLookUp:x(e,au),postponeLookUp:x(e,du)},attempts:{get:x(e,td),forCallback:x(e,nd),page:x(e,id),due:x(e,rd),definedOfRun:x(e,od),claimSubmission:x(e,xd),askToCancel:x(e,kd),change:oe(e,n,wd),keepContradiction:x(e,bd)},children:{startIfClaimed:x(e,pu),ends:x(e,cu),tellParent:x(e,mu),toCancel:x(e,fu),cancel:x(e,bi)},capacities:{say:x(e,ll),add:x(e,cl)},reservations:{takeIfClaimed:x(e,pl),releaseIfClaimed:x(e,hl),withdrawIfClaimed:x(e,gl),ofRun:x(e,yl)},signals:{keep:oe(e,n,_l)},evidence:{reject:x(e,Sd)},workflows:{record:x(e,Il),buildOf:x(e,vl)},keys:{byId:x(e,Sr),markUsed:x(e,eu),page:x(e,nu),create:x(e,tu),revoke:x(e,ru),rolesOfSubject:x(e,ou)},grants:{live:x(e,Ld),page:x(e,Md),create:x(e,Td),revoke:x(e,jd)},pauses:{set:x(e,$u),lift:oe(e,n,Nu),get:x(e,qi),ofTenant:x(e,Du),find:x(e,Pi),all:x(e,Ou)},nextLook:x(e,Iu),beforeOpening:n,doctor:i(()=>Ba(e),"doctor"),schemaVersion:i(()=>mi(e),"schemaVersion"),transaction:e.transaction.bind(e),close:i(()=>e.close(),"close")}}i(Al,"openLedger");var Wi="ghouls_app";function Sl(t,e){return`
grant usage on schema ${t} to ${e};
grant select on ${t}.migrations to ${e};
grant select, insert, update on ${t}.workflows to ${e};
grant select, insert, update on ${t}.runs to ${e};
grant select, insert, update on ${t}.deliveries to ${e};
grant select, insert on ${t}.journal to ${e};
grant select, insert on ${t}.checkpoints to ${e};
grant select, insert, update on ${t}.containment_items to ${e};
grant select, insert, update on ${t}.intents to ${e};
grant select, insert, update on ${t}.undos to ${e};
grant select on ${t}.steps_to_undo to ${e};
grant select, insert, update on ${t}.waits to ${e};
grant select, insert, update on ${t}.arms to ${e};
grant select, insert, update on ${t}.consents to ${e};
grant select, insert on ${t}.consent_decisions to ${e};
grant select, insert, update on ${t}.signals to ${e};
grant select, insert, update on ${t}.attempts to ${e};
grant select, insert, delete on ${t}.child_ends to ${e};
grant select, insert, update on ${t}.capacities to ${e};
grant select, insert, update on ${t}.reservations to ${e};
grant select, insert on ${t}.evidence to ${e};
grant select, insert on ${t}.audit to ${e};
grant select, update (last_used_at) on ${t}.api_keys to ${e};
grant select on ${t}.grants to ${e};
grant select, insert, update (lifted_at, lifted_by, lift_reason) on ${t}.pauses to ${e};
grant select on ${t}.doctor_open_deliveries to ${e};
grant select on ${t}.doctor_working_runs to ${e};
grant select on ${t}.doctor_attempts to ${e};
grant select on ${t}.doctor_children to ${e};
grant select on ${t}.units_in_use to ${e};
grant select on ${t}.doctor_reservations to ${e};
grant select on ${t}.doctor_undos to ${e};
grant select on ${t}.doctor_contradicted_attempts to ${e};
grant select on ${t}.doctor_terminal_runs to ${e};
grant select on ${t}.doctor_pending_deliveries to ${e};
grant select on ${t}.doctor_journals to ${e};
grant select on ${t}.doctor_open_items to ${e};
grant select on ${t}.doctor_endings to ${e};
grant select on ${t}.doctor_waits to ${e};
grant select on ${t}.doctor_ended_waits to ${e};
grant select on ${t}.doctor_lost_claims to ${e};
grant select on ${t}.doctor_quarantined_runs to ${e};
grant select on ${t}.doctor_runs_with_attention to ${e};
`}i(Sl,"grantsSql");function Cl(t){return`
do $$ begin
  if not exists (select from pg_namespace where nspname = '${t}') then create schema ${t}; end if;
end $$;
create table if not exists ${t}.migrations (
  number integer primary key,
  name text not null,
  applied_at timestamptz not null default statement_timestamp()
);
`}i(Cl,"prologueSql");function Rl(t,e){return`${wt(t.sql,e)}
insert into ${e}.migrations (number, name) values (${t.number}, '${t.name}');
`}i(Rl,"stepSql");function $l(t={}){let{schema:e,role:n}=Ol(t);return["begin;",Cl(e).trim(),...qt.map(r=>`-- ${r.number} ${r.name}
${Rl(r,e).trim()}`),Sl(e,n).trim(),"commit;",""].join(`

`)}i($l,"migrationSql");async function Dl(t){let{schema:e,role:n}=Ol(t),r=new Pt({...t,maxConnections:1,answerTimeoutMs:0,applicationName:"ghouls-migrate"}),o=r.patience();try{let s=await r.connect("the migration",o);try{return await Sw(s,e,n)}finally{s.release(!0)}}catch(s){throw Cw(s,n)}finally{o.end(),await r.close()}}i(Dl,"migrate");async function Sw(t,e,n){await t.query("begin"),await t.query({text:"select pg_advisory_xact_lock(hashtextextended($1, 0))",values:[`ghouls-migrate:${e}`]}),await t.query(Cl(e));let o=await t.query(`select number from ${e}.migrations order by number`),s=Number(o.rows.at(-1)?.number??0),a=qt.at(-1)?.number??0;if(s>a)throw new b("configuration_invalid",`the schema is at migration ${s}, this code knows ${a}`,{fix:"Run the newer version of ghouls."});let d=qt.filter(l=>l.number>s);for(let l of d)await t.query(Rl(l,e));await t.query(Sl(e,n));let u=await t.query("commit");if(u.command!=="COMMIT")throw new Error(`the migration's COMMIT answered ${u.command}`);return{applied:d.map(({number:l,name:c})=>({number:l,name:c})),version:a}}i(Sw,"applyMissing");function Ol(t){let e=t.schema??Dt,n=t.applicationRole??Wi;return Ot(e,"the schema name"),Ot(n,"the application's role"),{schema:e,role:n}}i(Ol,"named");function Cw(t,e){let n=typeof t=="object"&&t!==null&&"code"in t?t.code:void 0;return n==="42501"?new b("configuration_invalid","this role may not change the schema",{fix:"Give the migrator's connection string: the application's role owns nothing and has no DDL.",cause:t}):n==="42704"?new b("configuration_invalid",`the application's role "${e}" does not exist`,{fix:`Create it (create role ${e} login), or name yours with --app-role.`,cause:t}):t}i(Cw,"readable");import Rr from"pg";var Rw={statement_timeout:"15s",lock_timeout:"5s",idle_in_transaction_session_timeout:"2s"};function Bi(t,e){let{schema:n,migrator:r,application:o}=t;for(let[a,d]of[["the schema name",n],["the migrator's role",r.name],["the application's role",o.name]])Ot(d,a);let s=i(({name:a,password:d})=>[`do $$ begin if not exists (select from pg_roles where rolname = '${a}') then create role ${a} login; end if; end $$`,`do $$ begin if exists (select from pg_roles where rolname = '${a}' and (rolsuper or rolcreatedb or rolcreaterole)) then alter role ${a} nosuperuser nocreatedb nocreaterole; end if; end $$`,`alter role ${a} login password ${Rr.escapeLiteral(d)}`],"role");return[...s(r),...s(o),...Object.entries(Rw).map(([a,d])=>`alter role ${o.name} set ${a} = '${d}'`),`do $$ begin if not pg_has_role('${r.name}', 'usage') then grant ${r.name} to current_user; end if; end $$`,`create schema if not exists ${n} authorization ${r.name}`,`grant connect on database ${Rr.escapeIdentifier(e)} to ${r.name}, ${o.name}`,...t.mayCreateSchemas===!0?[`grant create on database ${Rr.escapeIdentifier(e)} to ${r.name}`]:[]]}i(Bi,"rolesSql");async function Nl(t,e){let n=new Rr.Client({connectionString:t});n.on("error",()=>{}),await n.connect();try{let r=(await n.query("select current_database() as name")).rows[0]?.name??"";for(let o of Bi(e,r))await n.query(o)}finally{await n.end()}}i(Nl,"createRoles");var ff={};zn(ff,{DEFAULT_EXECUTION_SETTINGS:()=>Ul,LiveRing:()=>xo,Publisher:()=>Wt,Registry:()=>Dr,StillAskingError:()=>kt,blameHop:()=>mc,createAdmission:()=>Gl,createAnnouncement:()=>Ll,createAttempts:()=>Rm,createConsents:()=>Om,createControl:()=>Gm,createDirectEgress:()=>Fl,createKeyAuthenticator:()=>Fm,createKeyAuthority:()=>Wm,createLedgerGrants:()=>Bm,createLowering:()=>sf,createPauses:()=>zm,createReads:()=>Hm,createSignals:()=>mf,endsWithin:()=>Ne,isConsentStatus:()=>Pm,pauseView:()=>Mn,reconcile:()=>Eo,reconcileWhenDue:()=>lf,work:()=>vm});function ql(t,e){let n=[],r=!1,o=i(async()=>{for(r=!0;n.length>0;){let s=n.slice(0,t);n=n.slice(t);try{let a=await e(s.map(d=>d.item));s.forEach((d,u)=>d.resolve(a[u]))}catch(a){for(let d of s)d.reject(a)}}r=!1},"drain");return s=>new Promise((a,d)=>{n.push({item:s,resolve:a,reject:d}),r||(r=!0,queueMicrotask(()=>{o()}))})}i(ql,"grouped");async function Ne(t,e){let n=Promise.withResolvers(),r=setTimeout(()=>n.resolve(!1),Math.min(Math.max(0,e),2147483647));try{return await Promise.race([t.then(()=>!0),n.promise])}finally{clearTimeout(r)}}i(Ne,"endsWithin");async function Ze(t,e){if(await Ne(t,e))return t;throw new Error(`no answer within ${e} ms`)}i(Ze,"answerWithin");var $w=100,Wt=class{static{i(this,"Publisher")}#e;#t;constructor(e){this.#e=e,this.#t=ql($w,n=>this.#n(n))}publish(e){return this.#t(e)}async#n(e){let{queue:n,log:r,faults:o}=this.#e;try{let{confirmed:s,failed:a}=await n.publish(e);for(let{publication:u,reason:l}of a)r.warn("a delivery could not be published; the relay will",{runId:u.runId,reason:l});await o("admission.after-publish",`${s.length} confirmed`),await this.#r(s,a);let d=new Set(s.map(({runId:u,enqueueSeq:l})=>`${u}:${l}`));return e.map(({runId:u,enqueueSeq:l})=>d.has(`${u}:${l}`)?"published":"failed")}catch(s){return r.warn("publications failed; the relay repeats them",{count:e.length,error:String(s).slice(0,200)}),e.map(()=>"failed")}}async#r(e,n){let{ledger:r,log:o}=this.#e;try{await r.deliveries.markPublished(e),await r.deliveries.markPublicationFailed(n)}catch(s){o.warn("publications could not be marked",{count:e.length,error:s.name})}}},Dw=2e3;async function st(t,e){let n=t.publish(e);return await Ne(n,Dw)?n:"failed"}i(st,"publishInTime");function Ll({ledger:t,registry:e,capacities:n,build:r}){let o,s=i(async()=>{await t.workflows.record(e.carried(),r),await t.capacities.add(n)},"announce");return()=>(o??=s().catch(a=>{throw o=void 0,a}),o)}i(Ll,"createAnnouncement");async function An(t){try{await t()}catch(e){throw!(e instanceof T)||e.kind!=="unknown"&&e.kind!=="busy"?e:new b("ledger_unavailable","nothing was admitted: this build could not say in the ledger which workflows it has",{fix:"Send the request again.",retryAfterSeconds:2,cause:e})}}i(An,"announceOrRefuse");async function Ki(t,e,n){let r=t.filter(u=>!e.has(u.runId)),o=r.flatMap(u=>u.idempotencyKey===null?[]:[{tenantId:u.tenantId,idempotencyKey:u.idempotencyKey}]),s=r.filter(u=>u.idempotencyKey===null),a=new Map((o.length>0?await n.byKey(o):[]).map(u=>[u.idempotencyKey,u])),d=new Map((s.length>0?await n.byId(s):[]).map(u=>[u.runId,u]));return t.map(u=>{let l=e.get(u.runId);if(l!==void 0)return{run:Ow(u,l),created:!0};let c=u.idempotencyKey===null?d.get(u.runId):a.get(u.idempotencyKey);if(c===void 0)throw new b("outcome_unknown","the ledger neither wrote the run nor holds its key",{fix:"Send the request again under the same Idempotency-Key.",retryAfterSeconds:1});return c.requestDigest!==u.requestDigest?{conflict:!0}:{run:c,created:c.runId===u.runId}})}i(Ki,"settleKeys");function Ow(t,{startsAt:e,startsInSeconds:n}){let{tenantId:r,runId:o,idempotencyKey:s,requestDigest:a,workflow:d,queue:u,priority:l,held:c}=t;return{tenantId:r,runId:o,idempotencyKey:s,requestDigest:a,workflow:d,queue:u,priority:l,held:c,status:"QUEUED",enqueueSeq:1,unpublished:!c,startsAt:e,dueInSeconds:n}}i(Ow,"freshRun");function Sn({run:t,created:e}){let{runId:n,status:r,enqueueSeq:o,workflow:s,queue:a,priority:d,held:u,startsAt:l}=t;return{runId:n,created:e,status:r,enqueueSeq:o,workflow:s,queue:a,priority:d,held:u,startsAt:l?.toISOString()??null}}i(Sn,"admittedView");function $r(t){return new b("idempotency_conflict",`the idempotency key "${t}" was used for another request`,{fix:"Use a new key for a new request, or send the same request again."})}i($r,"conflict");async function Tl(t,e){let n=[],r=[],o;for(let[s,a]of t.entries())try{n.push(await e(a))}catch(d){if(!(d instanceof b))throw d;o??=d;let u=d.issues??[{path:"",message:d.message}];r.push(...u.map(l=>({path:`/runs/${s}${l.path}`,message:l.message})))}if(o===void 0)return n;throw new b(o.code,`nothing was admitted: ${o.message}`,{issues:r.slice(0,50),...o.fix===void 0?{}:{fix:o.fix}})}i(Tl,"prepareAll");var Dr=class{static{i(this,"Registry")}#e=new Map;#t=new Map;#n=new Map;constructor(e){for(let n of e){let{name:r,version:o}=n.definition,s=`${r}@${o}`;if(this.#e.has(s))throw new b("configuration_invalid",`workflow "${r}" version ${o} is registered twice`,{fix:"Give each registered workflow its own name or version."});this.#e.set(s,n);let a=this.#t.get(r);(a===void 0||a.definition.version<o)&&this.#t.set(r,n);for(let d of n.definition.accepts)this.#r(n,d)}}#r(e,n){let{name:r,version:o}=e.definition,s=`${r}@${n}`,a=this.#n.get(s);if(a!==void 0)throw new b("configuration_invalid",`versions ${a.definition.version} and ${o} of workflow "${r}" both accept ${n}`,{fix:"Let one of them carry those runs on."});this.#n.set(s,e)}all(){return[...this.#e.values()]}pins(){return this.all().map(Cn)}carried(){let e=[...this.#n].map(([r,{definition:o}])=>({name:o.name,version:o.version,digest:r.slice(o.name.length+1)})),n=[...this.pins(),...e].map(r=>[`${r.name}@${r.version}@${r.digest}`,r]);return[...new Map(n).values()]}choose(e,n){let r=n===void 0?this.#t.get(e):this.#e.get(`${e}@${n}`);if(r===void 0){let o=n===void 0?`"${e}"`:`"${e}" version ${n}`;throw new b("unknown_workflow",`there is no workflow ${o}`,{fix:`Registered are: ${[...this.#e.keys()].join(", ")||"none"}.`})}return r}find(e){return this.#e.get(`${e.name}@${e.version}`)}newestCarrier(e){let n=this.find(e),r=this.#n.get(`${e.name}@${e.digest}`),o=n?.digest===e.digest?n:void 0;return o===void 0||r===void 0?o??r:r.definition.version>o.definition.version?r:o}carrier(e){let n=this.find(e);return n?.digest===e.digest?n:this.#n.get(`${e.name}@${e.digest}`)}};function Cn({definition:t,digest:e}){return{name:t.name,version:t.version,digest:e}}i(Cn,"pinOf");async function Ml(t,e,n,r){let{ledger:o,registry:s,announce:a,ids:d,faults:u,publish:l,settings:c}=t,m={tenantId:e.tenantId,runId:n},f=W(n)?await o.runs.get(m):null;if(f===null)throw Hi();let p=s.newestCarrier(f.workflow);if(p===void 0&&_e(f.status)&&f.redrivenAs===null)throw Nw(f);await An(a);let w=d.next(),g=await o.runs.redrive(m,{runId:w,workflow:p===void 0?f.workflow:Cn(p),onWorkerLoss:p?.definition.onWorkerLoss??"fail",deadlineMs:p?.definition.deadlineMs??null,requestedBy:e.subject,requestedRoles:e.roles,reason:r},c);if(await u("redrive.after-commit",n),g===null)throw Hi();if(g.kind==="refused")throw qw(n,g.why,g.about);if(g.kind==="redriven_before"&&!g.sameWord)throw Pw(n,g);let I=g.kind==="redriven"?w:g.runId,[C]=await o.runs.byId([{tenantId:e.tenantId,runId:I}]),$=await o.runs.get({tenantId:e.tenantId,runId:I});if(C===void 0||$===null)throw Hi();return await l(C),{runId:I,redriveOf:n,created:g.kind==="redriven",status:$.status,enqueueSeq:$.enqueueSeq,workflow:$.workflow,queue:$.queue,priority:$.priority,...g.kind==="redriven"?{kept:g.cut.entries,from:g.cut.call}:{kept:null,from:null}}}i(Ml,"redrive");function Hi(){return new b("not_found","there is no such run",{fix:"Check the run id."})}i(Hi,"absent");function jl(t,e,n){return new b("not_redrivable",e,{fix:n,issues:[{path:`/${t}`,message:e}]})}i(jl,"notRedrivable");function Nw({runId:t,workflow:{name:e,version:n,digest:r}}){return jl("workflow_changed",`run ${t} is pinned to workflow "${e}" version ${n} with digest ${r}, and no code of this build carries it on`,`Deploy code that carries it on and says so: accepts: ["${r}"].`)}i(Nw,"changed");function Pw(t,{runId:e,status:n}){let o=!_e(n)?`Follow that one: \`ghouls watch ${e}\`. Cancel it first where it is not wanted.`:n==="DONE"?"Its work is done; submit a new run for more.":`Redrive that one: \`ghouls redrive ${e}\`.`;return new b("redriven_before",`run ${t} was redriven before, as ${e}, which is ${n}`,{fix:o})}i(Pw,"redrivenBefore");var Ji="Submit it anew, once you have seen to what it did.";function qw(t,e,n){let[r,o]=Tw[e](t,n??"");return jl(e,r,o)}i(qw,"refusal");function Lw(t){return t==="DONE"?"Submit a new run.":G.some(e=>e===t)?"Wait for its end; `ghouls show` tells whether it waits for a person.":"Wait for its end, or cancel it."}i(Lw,"fixOf");var Tw={not_ended:i((t,e)=>[`run ${t} is ${e}: only one that is FAILED or CANCELLED is redriven`,Lw(e)],"not_ended"),quarantined:i(t=>[`run ${t} is quarantined: what the ledger has of it contradicts itself`,`Correct the cause, then \`ghouls clear ${t}\`.`],"quarantined"),child_run:i((t,e)=>[`run ${t} is a child of ${e}, which has its result`,`Redrive its parent: \`ghouls redrive ${e}\` starts the child again.`],"child_run"),child_open:i((t,e)=>[`child ${e} has not ended`,`Wait for its end, or \`ghouls cancel ${e}\`.`],"child_open"),effect_unknown:i((t,e)=>[`of the effect of step "${e}" nobody knows whether it happened, but for a person's word`,Ji],"effect_unknown"),job_unknown:i((t,e)=>[`of the job "${e}" nobody knows how it ended, but for a person's word, or its service contradicts itself`,Ji],"job_unknown"),undone:i((t,e)=>[`step "${e}" of it has been undone: its effects were taken back`,"Submit it anew."],"undone"),body_gone:i((t,e)=>[`of run ${t} ${e} is gone, at least in part`,"Submit it anew."],"body_gone"),done_behind:i((t,e)=>[`"${e}" was done for good at the call that failed or after it, or where the journal does not say so; it would be done again`,Ji],"done_behind")};var Mw=5,jw="1h";async function Or(t,e,n){let{request:r}=n,o=Buffer.byteLength(n.inputText);if(o>gt)throw new b("too_large",`the input is ${o} bytes of JSON, the limit is ${gt}`,{fix:"Keep the material elsewhere and send a reference."});if(r.holdFor!==void 0&&r.held!==!0)throw new b("invalid_request","holdFor is for a run that is held",{issues:[{path:"/holdFor",message:"needs held: true"}],fix:"Add held: true, or leave holdFor out."});let s=JSON.parse(n.inputText),a=r.workflow===void 0?Gw(t.route,{input:s,...r.agent===void 0?{}:{agent:r.agent}}):void 0,d=t.registry.choose(r.workflow??a.workflow,r.version);await Ww(d,s);let u=t.ids.next(),l=await t.codec.encode(n.inputText,{tenantId:e.tenantId,runId:u,kind:"input"});return{tenantId:e.tenantId,runId:u,idempotencyKey:n.idempotencyKey??null,requestDigest:await Ae(t.codec,n.canonicalRequest),workflow:{name:d.definition.name,version:d.definition.version,digest:d.digest},queue:Fw(t.queues,r.queue??a?.queue??d.definition.queue??sn),priority:Uw(r.priority??a?.priority??Mw),agent:r.agent??null,requestedBy:e.subject,requestedRoles:e.roles,inputText:l,inputDigest:L(l),deadlineMs:d.definition.deadlineMs??null,onWorkerLoss:d.definition.onWorkerLoss,held:r.held??!1,holdMs:V(r.holdFor??jw),startAfter:zw(r.startAfter)}}i(Or,"prepare");function zw(t){return t===void 0?null:qe(t)?{ms:V(t)}:{at:new Date(t)}}i(zw,"startAfterOf");async function Ae(t,e){return t.digest?.(e)??L(e)}i(Ae,"requestDigest");function Gw(t,e){let n;try{n=t?.(e)}catch{throw new b("invalid_request","the route of the configuration could not choose a workflow for this request",{fix:"Name a workflow in the request."})}if(n===void 0)throw new b("invalid_request","the request names no workflow and the route chose none",{issues:[{path:"/workflow",message:"is missing"}],fix:"Name a workflow, or let `route` in the configuration choose one."});return n}i(Gw,"routeOf");function Fw(t,e){if(!t.includes(e))throw new b("unknown_queue",`there is no queue "${e}"`,{fix:`Configured are: ${t.join(", ")}.`});return e}i(Fw,"queueOf");function Uw(t){if(!Number.isInteger(t)||t<0||t>9)throw new b("invalid_request",`a priority of ${t} is not taken`,{issues:[{path:"/priority",message:"must be a whole number from 0 to 9"}],fix:"Give a whole number from 0 to 9; 9 goes first."});return t}i(Uw,"priorityOf");async function Ww(t,e){let n=await Bw(t,e);if(n.length!==0)throw new b("input_invalid",`the input does not fit workflow "${t.definition.name}"`,{issues:n,fix:"Send an input of the workflow's schema; GET /v1/workflows shows it."})}i(Ww,"checkInput");async function Bw(t,e){try{let n=await t.definition.input.safeParseAsync(e);return n.success?[]:n.error.issues.slice(0,50).map(r=>({path:["","input",...r.path.map(String)].join("/"),message:r.message.slice(0,500)}))}catch{return[{path:"/input",message:"the workflow's schema failed on this input"}]}}i(Bw,"issuesOf");function Gl(t){let{ledger:e}=t,n=new Wt(t),r={lockTimeoutMs:t.lockTimeoutMs??2e3,publisherGraceSeconds:t.publisherGraceSeconds??15},o=i(async({tenantId:d,runId:u,enqueueSeq:l,queue:c,unpublished:m,dueInSeconds:f})=>{if(!m||f>xe)return;let p={tenantId:d,runId:u,enqueueSeq:l,queue:c,...zl(f)};await st(n,p)},"publishIfUnpublished"),s=i(async(d,{idempotencyKey:u,canonicalRequest:l})=>{if(u===void 0)return;let[c]=await e.runs.byKey([{tenantId:d.tenantId,idempotencyKey:u}]);if(!(c===void 0||c.requestDigest!==await Ae(t.codec,l)))return Sn({run:c,created:!1})},"admittedBefore"),a=i(async d=>{await An(t.announce);let u=await e.runs.admit(d,r);await t.faults("admission.after-commit",`${u.size} created`);let l=await Ki(d,u,e.runs);return await Promise.all(l.flatMap(c=>"run"in c?[o(c.run)]:[])),l},"commit");return{admit:i(async(d,u)=>{let l;try{l=await Or(t,d,u)}catch(m){let f=await s(d,u);if(f===void 0)throw m;return f}let[c]=await a([l]);if(c===void 0||"conflict"in c)throw $r(l.idempotencyKey);return Sn(c)},"admit"),admitBatch:i(async(d,u)=>{let l=await Tl(u,m=>Or(t,d,m));return{runs:(await a(l)).map((m,f)=>"run"in m?{outcome:"admitted",run:Sn(m)}:{outcome:"conflict",idempotencyKey:l[f]?.idempotencyKey??"",detail:$r(l[f]?.idempotencyKey??null).message})}},"admitBatch"),release:i(async(d,u)=>{let l={tenantId:d.tenantId,runId:u},c=W(u)&&await e.deliveries.releaseIfHeld(l,r.publisherGraceSeconds),[m]=W(u)?await e.runs.byId([l]):[];if(m===void 0)throw new b("not_found","there is no such run",{fix:"Check the run id."});await o(m);let f=m.status==="FAILING"||m.status==="FAILED"||m.status.startsWith("CANCEL");if(!c&&(f||m.held)){let p=f?`the run is ${m.status}`:"the hold has expired";throw new b("hold_ended",`${p}: there is nothing left to release`,{fix:"Admit a new run."})}return{runId:u,enqueueSeq:m.enqueueSeq,released:c}},"release"),redrive:i((d,u,l)=>Ml({...t,publish:o,settings:r},d,u,l),"redrive"),admitIn:i(async(d,u,l)=>{let c=await Or(t,u,l);await An(t.announce);let m=or(d,e.schema),f=await ir(m,async()=>{let p=await e.runs.admitIn(m,[c],r),[w]=await Ki([c],p,{byKey:i(g=>Nt(m,g),"byKey"),byId:i(()=>Promise.resolve([]),"byId")});return w});if(f===void 0||"conflict"in f)throw $r(c.idempotencyKey);return{admitted:Sn(f),tenantId:u.tenantId}},"admitIn"),publish:i(async({admitted:d,tenantId:u})=>{if(await e.beforeOpening(),d.held)return;let{runId:l,enqueueSeq:c,queue:m}=d,[f]=d.startsAt===null?[]:await e.runs.byId([{tenantId:u,runId:l}]),p=f?.dueInSeconds??0;p>xe||await n.publish({tenantId:u,runId:l,enqueueSeq:c,queue:m,...zl(p)})},"publish")}}i(Gl,"createAdmission");function zl(t){return t>0?{delaySeconds:Math.min(xe,Math.ceil(t))}:{}}i(zl,"delayOf");var Kw=250,kt=class extends Error{static{i(this,"StillAskingError")}constructor(e){super(e),this.name="StillAskingError"}};function Fl({services:t,origins:e,stopMs:n=Kw}){return{ask:i(async(r,o,s)=>{let a=Object.hasOwn(t,r)?t[r]:void 0;if(a===void 0)throw new Error(`the configuration has no service "${r.slice(0,100)}"`);let d=new AbortController,u={signal:d.signal,origins:e},l=Hw(a,o,u),c=l.then(()=>{},()=>{});try{return Un(await Ze(l,s))}catch(m){if(d.abort(new DOMException("the question has ended","AbortError")),!await Ne(c,n))throw new kt(v(m).message);let f=await l.then(Un,()=>{});if(f===void 0||f.state==="unknown")throw m;return f}finally{d.abort(new DOMException("the question has ended","AbortError"))}},"ask")}}i(Fl,"createDirectEgress");async function Hw(t,e,n){return e.kind==="submit"?t.submit(e.job,n):t[e.kind](e.job,n)}i(Hw,"put");var Ul={replayPatienceMs:1e3,settleReserveMs:2e3,transactionLimitMs:5e3,residentDelayMs:yt,reservePollMs:1e3,residentReserveMs:Number.POSITIVE_INFINITY,parkRestMs:25,overdueAfterMs:6e4,actsMarginSeconds:60,leaseMs:12e4,beatMs:3e4,maxLosses:3,maxContainDeliveries:3,deployOverlapMs:36e5,ownerDeadlineMs:1e4,giveBacksBeforeAttention:10,publisherGraceSeconds:15,replayCheck:!1,leaseHeld:!1};var at=3e4;function q(t,e,n){return{kind:"failed",failure:{code:t,name:"Refused",message:e,...n===void 0?{}:{step:n}}}}i(q,"refusal");function bt(t){return t.kind==="yielded"||t.kind==="given_back"}i(bt,"handsOver");function Wl(t,e){return t.kind==="fenced"||t.kind==="unknown"||e.kind==="restarted"&&Jw(t)?!0:bt(e)&&!bt(t)}i(Wl,"overrules");function Jw(t){return t.kind==="given_back"||t.kind==="failed"&&t.failure.code==="effect_unknown"}i(Jw,"isOfAnEffect");async function Nr(t){try{return await t()}catch(e){return{kind:"unknown",error:e}}}i(Nr,"whatStops");function Vi(t){let e=Vw(t);if(e===void 0)return{kind:"failed",failure:{code:"workflow_failed",...v(t)}};let{name:n,message:r}=v(t);return{kind:"failed",failure:{code:"step_failed",name:n,message:r,...e}}}i(Vi,"failureOf");function Vw(t){try{if(!(t instanceof ht))return;let e=t.failure.stack;return{step:String(t.step),...typeof e=="string"?{stack:e}:{}}}catch{return}}i(Vw,"stepFailureIn");async function Bl(t){let{options:e}=t;for(let n=t.triesBefore+1;;n+=1){let r=await dt(t,n);if(r.outcome==="ok")return{outcome:"ok",value:r.value,tries:n};if(Yi(r.thrown)||n>=e.tries)return{outcome:"error",failure:r.failure,tries:n};if(t.hopSignal.aborted)return{outcome:"abandoned",tries:n};t.log.warn("a try of a step failed",{step:t.name,try:n,error:r.failure.name});let s=Qe(e.backoff,n+1,t.chance());if(s>t.residentDelayMs||t.handsOver())return{outcome:"later",tries:n,delayMs:s};if(await Bt(s,t.hopSignal),t.hopSignal.aborted)return{outcome:"abandoned",tries:n};if(t.whyNotNow()!==void 0)return{outcome:"later",tries:n,delayMs:0}}}i(Bl,"runStep");async function dt(t,e){let{timeoutMs:n}=t.options,r=new AbortController,o=i(()=>r.abort(t.hopSignal.reason),"stop");t.hopSignal.addEventListener("abort",o,{once:!0}),t.hopSignal.aborted&&o();let s=!1,a=setTimeout(()=>{s=!0,r.abort(new DOMException(`step "${t.name}" did not end within ${n} ms`,"TimeoutError"))},n),d=setTimeout(t.onOverdue,n+t.overdueAfterMs);try{let{idempotencyKey:u,log:l}=t;return{outcome:"ok",value:await t.run({idempotencyKey:u,tryNumber:e,signal:r.signal,log:l})}}catch(u){let l=v(u);return{outcome:"error",thrown:u,failure:s?{name:"TimeoutError",message:`it did not end within ${n} ms (then: ${l.message.slice(0,500)})`}:l}}finally{clearTimeout(a),clearTimeout(d),t.hopSignal.removeEventListener("abort",o)}}i(dt,"callOnce");function Yi(t){return t instanceof $e?!0:t instanceof Error&&t.name==="NonRetryableError"}i(Yi,"isNonRetryable");function Bt(t,e){return new Promise(n=>{if(e.aborted)return n();let r=i(()=>{clearTimeout(o),e.removeEventListener("abort",r),n()},"end"),o=setTimeout(r,t);e.addEventListener("abort",r,{once:!0})})}i(Bt,"pause");var Fe=i(t=>({outcome:"stops",end:t}),"stops"),Yw=1e3,Qw=3e5;async function Hl(t,e){let n=t.lastNumber,r=t.triesUsed;if(t.openIntent!==void 0){let o=await Zw(t,t.openIntent,e);if(o!=="cannot_happen")return o}if(r>=t.options.tries)return Kl(t,r,{name:"Error",message:"it did not happen"});for(;;){if(t.hopSignal.aborted)return{outcome:"abandoned",tries:r};let o=t.whyNotNow();if(o!==void 0)return Fe(o);if(n+=1,r+=1,await e.faults("worker.before-intent",t.call.name),!await e.ledger.intents.openIfClaimed(t.claim,t.call,n))return Fe({kind:"fenced"});await e.faults("worker.after-intent",t.call.name);let s=await dt(Jl(t,t.call.name,t.run),r);if(s.outcome==="ok")return{outcome:"ok",value:s.value,tries:r,closesIntent:!0};if(!(s.thrown instanceof nt))return Xw(t,r,s.failure);if(!await e.ledger.intents.closeIfClaimed(t.claim,t.call,n,"not_done"))return Fe({kind:"fenced"});if(t.tried(n,r),r>=t.options.tries||t.hopSignal.aborted)return Kl(t,r,s.failure);let a=Qe(t.options.backoff,r+1,e.chance());if(a>e.settings.residentDelayMs||t.handsOver())return{outcome:"later",tries:r,delayMs:a};await Bt(a,t.hopSignal)}}i(Hl,"onceStep");function Jl(t,e,n){let{options:r,hopSignal:o,log:s,onOverdue:a,overdueAfterMs:d}=t,u=Je(t.claim.firstRunId,t.call);return{name:e,run:n,options:r,hopSignal:o,log:s,onOverdue:a,overdueAfterMs:d,idempotencyKey:u}}i(Jl,"callOf");function Kl(t,e,n){return t.log.warn("an effect has certainly not happened",{step:t.call.name,tries:e}),{outcome:"error",failure:n,tries:e}}i(Kl,"failedForGood");function Xw(t,e,n){return t.probe===void 0?Fe(Pr(t,n.message)):(t.log.warn("the outcome of an effect is unknown; its probe is asked next",{step:t.call.name,try:e}),Fe({kind:"given_back",dueAt:new Date(t.ledgerNowMs()+Yw),why:`the outcome of "${t.call.name}" is unknown`}))}i(Xw,"unknownOutcome");function Pr(t,e){let{name:n}=t.call;return q("effect_unknown",`effect "${n}" may or may not have happened: ${e.slice(0,500)}`,n)}i(Pr,"effectUnknown");async function Zw(t,e,n){if(!e.over){let s=e.overAt??new Date(t.ledgerNowMs()+Qw);return Fe({kind:"given_back",dueAt:s,why:`an earlier worker may still carry out "${t.call.name}"`})}if(t.probe===void 0)return Fe(Pr(t,"its worker was lost, and it has no probe"));let r=await Qi(t.probe,t);return typeof r=="string"?Fe(Pr(t,r)):r.outcome==="happened"?{outcome:"ok",value:r.result,tries:e.number,closesIntent:!0}:r.outcome==="unknown"?Fe(Pr(t,"its probe does not know")):await n.ledger.intents.closeIfClaimed(t.claim,t.call,e.number,"cannot_happen")?"cannot_happen":Fe({kind:"fenced"})}i(Zw,"askAbout");async function Qi(t,e){let n=await dt(Jl(e,`probe of ${e.call.name}`,t),1);return n.outcome==="error"?`its probe failed: ${n.failure.message.slice(0,300)}`:ek(n.value)?n.value:"its probe answered nothing that a probe answers"}i(Qi,"probe");function ek(t){return typeof t!="object"||t===null||!("outcome"in t)?!1:t.outcome==="happened"||t.outcome==="cannot_happen"||t.outcome==="unknown"}i(ek,"isAnswer");async function Vl(t,{ledger:e}){let{call:n,claim:r,run:o,options:s,triesBefore:a}=t;if(s.undo===void 0)return{run:o,failed:i(()=>Promise.resolve(!0),"failed")};let d=await e.undos.startIfClaimed(r,n,s.once);if(d===null)return null;let u=s.once||d.again||a>0;return{run:i(async l=>{try{return await o(l)}catch(c){throw c instanceof nt||(u=!0),c}},"run"),failed:i(async()=>u||e.undos.clearIfClaimed(r,n),"failed")}}i(Vl,"beginUndoable");function fe(t,e,n){return t.claimedAt.getTime()+e.clock.monotonicMs()-n.claimedAtMs}i(fe,"ledgerNowMs");function Rn(t,e,n,r,o){if(n.deadlineAt!==null&&fe(n,r,o)>=n.deadlineAt.getTime())return q("deadline",`the run's deadline has passed before step "${t}"`,t);if(e>o.remainingMs()-r.settings.settleReserveMs)return{kind:"yielded",why:"time"};if(!(fe(n,r,o)<(o.holdsUntilMs??1/0)))return{kind:"yielded",why:"grant"}}i(Rn,"whyNotNow");var xt=2**30;function tk({name:t}){return q("journal_mismatch",`step "${t}" was begun as an effect that happens once, and nobody knows whether it did; the code calls it as a plain step now`,t)}i(tk,"notPlain");async function Yl(t,e){let{call:n,claim:r,hopSignal:o,log:s,effects:a,invocation:d}=t,u=e.settings.leaseHeld?{...t.options,timeoutMs:xt}:t.options,l={options:u,hopSignal:o,log:s,overdueAfterMs:e.settings.overdueAfterMs,onOverdue:i(()=>Et(t,e),"onOverdue"),handsOver:t.handsOver,whyNotNow:i(()=>Rn(n.name,t.options.timeoutMs,r,e,d),"whyNotNow")};if(!u.once&&a.of(n).openIntent!==void 0)return{outcome:"stops",end:tk(n)};try{await e.faults("worker.before-step",n.name);let c=await Vl(t,e);if(c===null)return{outcome:"stops",end:{kind:"fenced"}};let m=u.once?await Hl({...l,run:c.run,call:n,claim:r,probe:u.probe,...a.of(n),tried:i((f,p)=>a.tried(n,f,p),"tried"),ledgerNowMs:i(()=>fe(r,e,d),"ledgerNowMs")},e):await Bl({...l,run:c.run,name:n.name,triesBefore:t.triesBefore,idempotencyKey:Je(r.firstRunId,n),chance:e.chance,residentDelayMs:e.settings.residentDelayMs});return await e.faults("worker.after-step",n.name),m.outcome==="error"&&!await c.failed()?{outcome:"stops",end:{kind:"fenced"}}:m}catch(c){return u.once||u.undo!==void 0?{outcome:"stops",end:{kind:"unknown",error:c}}:{outcome:"error",failure:v(c),tries:1}}}i(Yl,"liveStep");function Et({call:t,claim:e,log:n},r){$n(e,`step_overdue: ${t.name}`,n,r)}i(Et,"askForAPerson");function $n(t,e,n,r){r.ledger.runs.raiseAttention(t,e).catch(o=>{n.warn("attention could not be raised",{reason:e,error:String(o).slice(0,200)})})}i($n,"raiseAttention");function Dn(t,e,n,r){return n.logFor(t).error("a codec could not do its work; the delivery goes back",{error:e.message}),{kind:"given_back",dueAt:new Date(fe(t,n,r)+at),why:"a codec could not do its work"}}i(Dn,"afterCodec");function qr(t){return L(JSON.stringify(t.map(e=>[e.ordinal,j(e),e.outcome,e.digest])))}i(qr,"journalDigest");function Kt(t,e){return{workflowDigest:t.workflow.digest,journalLength:t.journalStart+e.length,journalDigest:qr(e)}}i(Kt,"checkpointOf");var ne=class extends Error{static{i(this,"DisagreementError")}constructor(e){super(e),this.name="DisagreementError"}},de=class extends Error{static{i(this,"CodecError")}constructor(e){super(e),this.name="CodecError"}};async function ue(t,e,n,r){if(e===null||L(t)!==e)throw new ne(`${n} disagrees with its digest`);try{return await r(t)}catch(o){throw o instanceof ne?o:new de(`${n}: ${v(o).message.slice(0,200)}`)}}i(ue,"verified");async function Lr(t,e,n){let r=t.journalLength-t.journalStart;if(e.length!==r)throw new ne(`the journal has ${e.length} entries, the run says ${r}`);let{tenantId:o}=t;return Promise.all(e.map(async(s,a)=>{let d=t.journalStart+a+1;if(s.ordinal!==d)throw new ne(`journal entry ${d} is missing`);let{ordinal:u,epoch:l,scope:c,kind:m,name:f,nth:p,outcome:w,tries:g,completedAt:I,resultText:C}=s,$=C===null?ik(s):await ue(C,s.resultDigest,`journal entry ${u}`,K=>Ql(m)?n.decode(K,{tenantId:o,runId:s.storedFor,kind:"result"}):nk(m,K,{tenantId:o,runId:s.storedFor},n));return{ordinal:u,epoch:l,scope:c,kind:m,name:f,nth:p,outcome:w,text:$,tries:g,completedAt:I,digest:s.resultDigest}}))}i(Lr,"loadJournal");function Ql(t){return t==="step"||t==="transaction"}i(Ql,"isOfFunction");function Xl(t){return Ql(t)||t==="reserve"||t==="release"}i(Xl,"isOfHop");async function nk(t,e,{tenantId:n,runId:r},o){if(t==="child")return rk(JSON.parse(e),n,o);let s=JSON.parse(e);if(s.report!==void 0)return ok(s,{tenantId:n,runId:r},o);let a={...s};return s.decisions!==void 0&&(a.decisions=await Promise.all(s.decisions.map(async d=>({...d,comment:d.comment===null?null:await o.decode(d.comment,{tenantId:n,runId:r,kind:"comment"})})))),s.payload!==void 0&&(a.payload=s.payload===null?null:JSON.parse(await o.decode(s.payload,{tenantId:n,runId:r,kind:"signal"}))),JSON.stringify(a)}i(nk,"decodeWaitResult");async function rk({outcome:t,runId:e,text:n=null,digest:r=null},o,s){if(n===null){if(r!==null)throw new ne(`the end of child ${e} is gone`);return JSON.stringify({outcome:t,runId:e})}let a=t==="DONE"?"output":"error",d=await ue(n,r,`the ${a} of child ${e}`,u=>s.decode(u,{tenantId:o,runId:e,kind:a}));return JSON.stringify({outcome:t,runId:e,body:JSON.parse(d)})}i(rk,"decodeChild");async function ok(t,{tenantId:e,runId:n},r){let{report:o,digest:s,...a}=t,d=await ue(o??"",s??null,"the report of a job",u=>r.decode(u,{tenantId:e,runId:n,kind:"report"}));return JSON.stringify({...a,[a.outcome==="FAILED"?"error":"result"]:JSON.parse(d)})}i(ok,"decodeReport");function ik(t){if(t.resultDigest!==null)throw new ne(`the result of journal entry ${t.ordinal} is gone`);return null}i(ik,"emptied");function Zl(t,e,n){let r=`checkpoint ${t.checkpointGeneration}`;if(e===null)throw new ne(`${r} is missing`);if(e.workflowDigest!==t.workflow.digest)throw new ne(`${r} is of another workflow digest`);let o=e.journalLength-t.journalStart;if(e.journalDigest!==qr(n.slice(0,o)))throw new ne(`${r} disagrees with the journal`);return o}i(Zl,"verifyCheckpoint");async function Ue(t,e){try{return await e()}catch(n){throw new de(`${t}: ${v(n).message.slice(0,200)}`)}}i(Ue,"encoded");async function On(t){try{return await t()}catch(e){if(!(e instanceof de))throw e;let n="Ask again later: nothing was written.";throw new b("codec_unavailable",e.message,{fix:n,cause:e})}}i(On,"withCodec");var sk={openIntent:void 0,lastNumber:0,triesUsed:0};async function ec(t,e){let n=t.seq===1?new Map:await ak(t,e);return{of:i(r=>n.get(j(r))??sk,"of"),tried:i((r,o,s)=>{n.set(j(r),{openIntent:void 0,lastNumber:o,triesUsed:s})},"tried"),open:i(()=>[...n.values()].flatMap(({openIntent:r})=>r??[]),"open")}}i(ec,"loadEffects");async function ak(t,e){let[n,r]=await Promise.all([e.ledger.intents.openOfRun(t),e.ledger.intents.lastOfRun(t)]),o=new Map(n.map(s=>[j(s),s]));return new Map(r.map(s=>{let a=j(s);return[a,{openIntent:o.get(a),lastNumber:s.number,triesUsed:s.tries}]}))}i(ak,"readEffects");async function tc(t,e){let n=t.checkpointGeneration===null?[]:await e.ledger.arms.retriesOfRun(t,t.epoch),r=new Map(n.map(o=>[j(o.call),o]));return{of:i(o=>{let s=r.get(j(o));return{triesBefore:s?.tries??0,dueAt:s?.dueAt??null}},"of")}}i(tc,"loadRetries");async function Ht(t,e,n){let r=t.journalLength===t.journalStart?[]:await Lr(t,await n.ledger.journal.read(t,t.journalStart),n.codec),o=r.findLastIndex(({kind:f})=>Xl(f))+1;if(t.checkpointGeneration!==null){let f=await n.ledger.checkpoints.read(t,t.checkpointGeneration);o=Math.max(o,Zl(t,f,r))}let{tenantId:s,inputStoredFor:a}=t,d=await ue(t.inputText,t.inputDigest,"the input",f=>n.codec.decode(f,{tenantId:s,runId:a,kind:"input"})),u=await nc(e,d);if("problem"in u)return q("input_invalid",`the input does not fit the workflow's schema: ${u.problem}`);let[l,c,m]=await Promise.all([ec(t,n),tc(t,n),t.seq===1?[]:n.ledger.arms.openOfRun(t)]);return{input:u.value,journal:r,effects:l,retries:c,arms:m,seen:o}}i(Ht,"loadMaterial");function Jt(t){return"journal"in t}i(Jt,"isMaterial");async function Tr(t,e){let n=await nc(t,e);return"problem"in n?n.problem:void 0}i(Tr,"inputProblem");async function nc(t,e){try{let n=await t.input.safeParseAsync(JSON.parse(e));return n.success?{value:n.data}:{problem:n.error.message.slice(0,1500)}}catch(n){return{problem:v(n).message}}}i(nc,"inputOf");var dk=100,uk=2e3;async function he(t,e){for(let n=dk;;n=Math.min(uk,n*2))try{return await t()}catch(r){if(!(r instanceof T)||r.kind==="defect"||r.kind==="schema"||!e.mayGoOn()||(e.onPause(r),await new Promise(o=>setTimeout(o,n*(.5+e.chance()/2))),!e.mayGoOn()))throw r}}i(he,"persist");function Xi(t){let{title:e,deciders:n,quorum:r,expiresMs:o,onExpiry:s,requesterMayDecide:a,detail:d}=t;return{title:e,deciders:n,quorum:r,expiresMs:o,onExpiry:s,requesterMayDecide:a,detail:d===void 0?null:JSON.parse(d)}}i(Xi,"contentOf");function rc({service:t,definition:e,requestText:n}){let{adapter:r,version:o}=e;return le({service:t,adapter:r,version:o,request:JSON.parse(n)})}i(rc,"contentOfJob");async function Nn(t,e,n,r){return n?.consent!==void 0?mk(t,e,n.consent,r):n?.child!==void 0?lk(t,e,n.child,r):n?.job===void 0?void 0:ck(t,e,n.job,r)}i(Nn,"digestOfFrozen");function Zi({workflow:t,inputText:e}){let{name:n,version:r}=t.definition;return le({workflow:n,version:r,input:JSON.parse(e)})}i(Zi,"contentOfChild");async function lk({tenantId:t},e,n,{ledger:r,codec:o}){let s=await r.runs.get({tenantId:t,runId:e});if(s===null)return;let a=await Ae(o,Zi(n));if(s.requestDigest===a)return a;if(s.inputText===null)return;let d=await ue(s.inputText,s.inputDigest,"a child's input",m=>o.decode(m,{tenantId:t,runId:e,kind:"input"})),{name:u,version:l}=n.workflow.definition;return s.workflow.name===u&&s.workflow.version===l&&d===n.inputText?s.requestDigest:void 0}i(lk,"digestOfSameChild");async function ck(t,e,n,{ledger:r,codec:o}){let{tenantId:s,runId:a}=t,d=await r.attempts.get({tenantId:s,attemptId:e});if(d===null)return;let u=await ue(d.requestText,d.storedDigest,"a job's request",f=>o.decode(f,{tenantId:s,runId:a,kind:"job"})),{adapter:l,version:c}=n.definition;return u===n.requestText&&d.service===n.service&&d.adapter===l&&d.adapterVersion===c?d.requestDigest:void 0}i(ck,"digestOfSameJob");async function mk(t,e,n,{ledger:r,codec:o}){let{tenantId:s,runId:a}=t,d=await r.consents.get({tenantId:s,consentId:e});if(d===null)return;let u=await ue(d.requestText,d.storedDigest,"a consent's request",p=>o.decode(p,{tenantId:s,runId:a,kind:"consent"})),l=Xi(n),c=JSON.parse(u),m=Object.keys(l),f=Object.fromEntries(m.map(p=>[p,c[p]]));return le(f)===le(l)?d.requestDigest:void 0}i(mk,"digestOfSameRequest");function es({arms:t,effects:e}){return[...t.flatMap(({call:r})=>r.kind==="step"?[]:[r]),...e.open()]}i(es,"callsOf");async function oc(t,e,n,r){let o=new Map(n.map(d=>[d.key,d])),s=es(e).find(d=>!o.has(j(d)));if(s!==void 0)return`${be(s)} stands open, and the code does not ask for it`;let a=e.effects.open().find(d=>o.get(j(d))?.step?.once!==!0);if(a!==void 0)return`nobody knows whether the effect of ${be(a)} has happened, and the code calls it as a plain step`;for(let{call:d,consentId:u,attemptId:l,childRunId:c}of e.arms){let m=u??l??c;if(m!==null&&await Nn(t,m,o.get(j(d))?.wait,r)===void 0)return`${be(d)} was frozen with another request than the code asks for`}}i(oc,"takeoverProblem");async function ic(t,e,n,r,o,s,a){let d=r.find(l=>j(l.call)===e.key),u=await Nr(()=>d===void 0?pk(t,e,n,o,s):fk(t,e,n,d,o));return u===void 0?{outcome:"stands"}:u.kind!=="unknown"||!(u.error instanceof de)?{outcome:"stops",end:u}:{outcome:"stops",end:Dn(t,u.error,o,a)}}i(ic,"startChild");async function fk(t,e,n,{childRunId:r,requestDigest:o},s){if(await sc(n,s)===o||await Nn(t,r??"",e.wait,s)!==void 0)return;let{name:a}=e.id;return q("journal_mismatch",`child "${a}" was started with another request than the code asks for now: the code has changed or is not deterministic`,a)}i(fk,"problemOfStarted");function sc(t,{codec:e}){return Ue("the request of a child",()=>Ae(e,Zi(t)))}i(sc,"digestOf");async function pk(t,e,n,r,o){let{definition:s,digest:a}=n.workflow,{name:d}=e.id,u=await Tr(s,n.inputText);if(u!==void 0)return q("invalid_call",`child "${d}": its input does not fit workflow "${s.name}": ${u}`,d);let[l,c]=[r.ids.next(),r.ids.next()],{tenantId:m}=t,f={tenantId:m,runId:c,kind:"input"},p=await Ue(`the input of child "${d}"`,()=>r.codec.encode(n.inputText,f)),w=n.queue??s.queue??sn,g={armId:l,call:e.id,runId:c,requestDigest:await sc(n,r),workflow:{name:s.name,version:s.version,digest:a},queue:w,priority:n.priority,inputText:p,inputDigest:L(p),deadlineMs:s.deadlineMs??null,onWorkerLoss:s.onWorkerLoss,parentClose:n.parentClose},{publisherGraceSeconds:I}=r.settings;await r.faults("worker.before-child",d);let C=await he(()=>r.ledger.children.startIfClaimed(t,g,{publisherGraceSeconds:I}),o);if(await r.faults("worker.after-child",d),!C)return{kind:"fenced"};await r.publisher.publish({tenantId:m,runId:c,enqueueSeq:1,queue:w})}i(pk,"start");async function ac(t,e,n){let{tenantId:r,runId:o,parentRunId:s}=t;if(s!==null)try{await e.faults("worker.before-tell-parent",o);let{resumption:a}=await e.ledger.children.tellParent({tenantId:r,runId:o,parentRunId:s},e.settings.publisherGraceSeconds);await e.faults("worker.after-tell-parent",o),a!==null&&await e.publisher.publish(a)}catch(a){n.warn("the parent of a run could not be told of its end; the reconciler does it",{parentRunId:s,error:v(a).message.slice(0,200)})}}i(ac,"tellParent");function Se(t){return typeof t=="string"&&t!==""&&t.length<=200&&!t.includes("\0")&&t.isWellFormed()}i(Se,"isCallName");function Ce(t){return`the name of a ${t} is a text of 1 to 200 characters`}i(Ce,"notAName");var hk=new Set(["deciders","quorum","expires","onExpiry","detail","requesterMayDecide","source"]),gk=new Set(["schema","timeout"]),yk=/^(?:role|user):[\x21-\x7e]{1,200}$/,Mr=100;function dc(t,e,n,r){return It("consent",t,e,hk,o=>{let{deciders:s,quorum:a=1,onExpiry:d="expire",requesterMayDecide:u=!1}=e??{},l=e?.source??null;if(!Array.isArray(s)||s.length===0||s.length>Mr)return`name 1 to ${Mr} deciders, such as deciders: ["role:legal"]`;let c=s.find(w=>typeof w!="string"||!yk.test(w));if(c!==void 0)return`"${String(c).slice(0,100)}" is no decider: write "role:<name>", or "user:<subject of a key>"`;if(!Number.isInteger(a)||a<1||a>Mr)return`quorum is a whole number from 1 to ${Mr}`;let m=new Set(s);if(a>m.size&&!s.some(fn))return`a quorum of ${a} cannot be reached by ${m.size} deciders`;if(!rt.includes(d))return`onExpiry is one of ${rt.join(", ")}`;if(l!==null&&!n.includes(l))return`source "${String(l).slice(0,100)}" is not among the decision sources of the configuration`;if(l===null&&u!==!0&&new Set(s.filter(g=>!Zn(g,r))).size<a&&!s.some(fn))return`it cannot be granted: ${r} has asked for the run, and so may not decide. Name other deciders, or set requesterMayDecide: true`;let f=_k(e?.detail),p={title:o,deciders:[...m].toSorted((w,g)=>w<g?-1:1),quorum:a,expiresMs:e?.expires===void 0?null:V(e.expires),onExpiry:d,requesterMayDecide:u===!0,detail:f,source:l};return{name:o,wait:{owner:"consent",dueAt:null,tries:null,consent:p}}})}i(dc,"understandConsent");function _k(t){try{return Z(t)}catch(e){throw e instanceof Q?new b("configuration_invalid",`its detail cannot be kept: ${e.message}`,{fix:`Give JSON of at most ${gt} bytes.`}):e}}i(_k,"detailOf");var wk=new Date("9999-12-31T23:59:59.999Z");function uc(t,e,n){if(typeof t!="string"&&!(t instanceof Date))return`sleep: ${typeof t} is no time: give a duration such as "3d", or a Date`;let r=t instanceof Date?kk(t):t;return It("sleep",e?.name??r,e,new Set(["name"]),o=>{let s=t instanceof Date?new Date(t):new Date(n.getTime()+V(String(t)));if(Number.isNaN(s.getTime()))return"it is until no moment: the Date is invalid";if(s>wk)return"it is until a moment that the ledger cannot keep: give one before the year 10000";let a=s<n?n:s;return{name:o,wait:{owner:"timer",dueAt:a,tries:null,receive:i(()=>{},"receive")}}})}i(uc,"understandSleep");function kk(t){return Number.isNaN(t.getTime())?"invalid date":t.toISOString()}i(kk,"momentOf");function lc(t,e,n){return It("signal",t,e,gk,r=>{if(!Te.SIGNAL_NAME.test(r))return`nobody could send it: the name of a signal is ${Te.SIGNAL_NAME_RULE}`;let{schema:o,timeout:s}=e??{};if(o!==void 0&&typeof o.safeParse!="function")return"its schema is none of zod's";let a=s===void 0?null:new Date(n.getTime()+V(s));return{name:r,wait:{owner:"signal",dueAt:a,tries:null,receive:i(d=>bk(d,o),"receive")}}})}i(lc,"understandSignal");function bk(t,e){let{outcome:n,payload:r}=t;if(n!=="RECEIVED"||e===void 0)return t;try{let o=e.safeParse(r);return o.success?{...t,payload:o.data}:{...t,outcome:"INVALID",problem:o.error.message.slice(0,1500)}}catch(o){let s=`the schema threw: ${String(o).slice(0,500)}`;return{...t,outcome:"INVALID",problem:s}}}i(bk,"received");function It(t,e,n,r,o){if(!Se(e))return Ce(t);let s=`${t} "${e}"`;if(n!==void 0&&(typeof n!="object"||n===null))return`${s}: its options are an object`;let a=Object.keys(n??{}).find(d=>!r.has(d));if(a!==void 0)return`${s}: option "${a}" is not known in this version (known: ${[...r].join(", ")})`;try{let d=o(e);return typeof d=="string"?`${s}: ${d}`:d}catch(d){if(!(d instanceof b))throw d;return`${s}: ${d.message}${d.fix===void 0?"":`. ${d.fix}`}`}}i(It,"understood");var xk=new Set(["name","parentClose","queue","priority"]);function cc(t,e,n,r,o){let s=n?.name??Ek(t);return s===void 0?"ctx.child: its first argument is a workflow: pass what workflow({ \u2026 }) has made":It("child",s,n,xk,a=>{let d=r.all().find(({definition:p})=>p===t);if(d===void 0)return"its workflow is not in the configuration: name it in workflows, and pass that very object";let{parentClose:u="cancel",queue:l,priority:c}=n??{};if(!Xn.includes(u))return`parentClose is one of ${Xn.join(", ")}`;if(l!==void 0&&!o.includes(l))return`there is no queue "${String(l).slice(0,100)}"; configured are ${o.join(", ")}`;if(c!==void 0&&!(Number.isInteger(c)&&c>=0&&c<=9))return"priority is a whole number from 0 to 9";let m=Ik(e);if("problem"in m)return`its input ${m.problem}`;let f={workflow:d,inputText:m.text,parentClose:u,queue:l??null,priority:c??null};return{name:a,wait:{owner:"child",dueAt:null,tries:null,child:f,receive:vk}}})}i(cc,"understandChild");function Ek(t){let e=t?.name;return typeof e=="string"?e:void 0}i(Ek,"nameOf");function Ik(t){try{return{text:le(JSON.parse(Z(t)??"null"))}}catch(e){return e instanceof Q?{problem:e.message}:{problem:`cannot be read: ${v(e).message.slice(0,300)}`}}}i(Ik,"inputOf");function vk(t){let{outcome:e,runId:n,body:r}=t;return e==="DONE"?{outcome:e,runId:n,result:r}:e==="FAILED"?{outcome:e,runId:n,error:r}:{outcome:e,runId:n}}i(vk,"receive");import{AsyncLocalStorage as Ak}from"node:async_hooks";var ts=new Ak;function Re(t,e){return ts.run(t,e)}i(Re,"standIn");function ut(){return ts.getStore()}i(ut,"whereAmI");function mc(t){let e=ts.getStore();return e===void 0?!1:(e.hop.fail(t),!0)}i(mc,"blameHop");var Sk=new Set(["deadline","heartbeat"]);function fc(t,e,n,r,o){return It("delegate",t,r,Sk,s=>{let a=Object.entries(o).find(([,f])=>f===e);if(a===void 0)return"its service is not in the configuration: name it in services, and pass that very object";let[d,u]=a,l=Ck(u,n);if("problem"in l)return`its request ${l.problem}`;let c=r?.heartbeat,m={service:d,definition:u,requestText:l.canonical,deadlineMs:r?.deadline===void 0?null:V(r.deadline),heartbeatMs:c===void 0?u.times.heartbeatMs:V(c)};return m.deadlineMs===0||m.heartbeatMs===0?"its deadline and its heartbeat are not 0":{name:s,wait:{owner:"delegate",dueAt:null,tries:null,job:m,receive:i(f=>Rk(f,u),"receive")}}})}i(fc,"understandJob");function Ck({request:t},e){try{Z(e);let n=t.safeParse(e);if(!n.success)return{problem:`does not fit the service's schema: ${n.error.message.slice(0,1500)}`};let r=Z(n.data)??"null";return{canonical:le(JSON.parse(r))}}catch(n){return n instanceof Q?{problem:`cannot be sent: ${n.message}`}:{problem:`made its schema throw: ${v(n).message.slice(0,500)}`}}}i(Ck,"requestOf");function Rk(t,{result:e}){let{outcome:n,attemptId:r,result:o}=t;if(n!=="SUCCEEDED")return t;let s=i(a=>({outcome:"INVALID",attemptId:r,result:o,problem:a}),"invalid");try{let a=e.safeParse(o);return a.success?{outcome:n,attemptId:r,result:a.data}:s(a.error.message.slice(0,1500))}catch(a){return s(`the schema threw: ${v(a).message.slice(0,500)}`)}}i(Rk,"received");var $k=10,pc=1e3,hc=1e4,gc=new Set(["concurrency"]);function yc(t,e,n,r){if(!Se(t))return Ce("map");let o=`map "${t}"`;if(!Array.isArray(e))return`${o}: its items are an array`;if(e.length>hc)return`${o}: it has ${e.length} items, ${hc} is the most. Let children or ctx.restart carry a part each`;if(typeof n!="function")return`${o} has no function`;if(r!==void 0&&(typeof r!="object"||r===null))return`${o}: its options are an object`;let s=Object.keys(r??{}).find(d=>!gc.has(d));if(s!==void 0)return`${o}: option "${s}" is not known in this version (known: ${[...gc].join(", ")})`;let a=r?.concurrency??$k;return!Number.isInteger(a)||a<1||a>pc?`${o}: concurrency is a whole number from 1 to ${pc}`:{name:t,items:[...e],concurrency:a}}i(yc,"understandMap");function _c({items:t,concurrency:e},n){return new Promise((r,o)=>{let s=Array.from({length:t.length}),[a,d,u]=[0,0,!1];t.length===0&&r(s);let l=i(()=>{if(u||a>=t.length)return;let c=a;a+=1,n(t[c],c).then(m=>{s[c]=m,d+=1,d===t.length?r(s):l()},m=>{u=!0,o(m)})},"begin");for(let c=0;c<e;c+=1)l()})}i(_c,"eachItem");function wc(t,e,n){return Object.defineProperty(t,"constructor",{get:i(()=>{let r=Dk();return r===void 0?n():e(r),Promise},"get")})}i(wc,"guardAgainstRace");function Dk(){let{stackTraceLimit:t}=Error;Error.stackTraceLimit=6;let{stack:e}=new Error;return Error.stackTraceLimit=t,typeof e=="string"?/at (Promise\.(?:race|any)) \(<anonymous>\)/.exec(e)?.[1]:void 0}i(Dk,"racingNow");import{setTimeout as Ok}from"node:timers/promises";function We(){return new Promise(t=>setImmediate(t))}i(We,"comeToRest");function kc(){return Ok(5)}i(kc,"briefly");function bc(){return process.getActiveResourcesInfo().some(t=>t.startsWith("FSReq"))}i(bc,"readsFiles");function et(){let{promise:t,resolve:e,reject:n}=Promise.withResolvers();return t.catch(()=>{}),{promise:t,resolve:e,reject:n}}i(et,"deferred");var Nk=/[%/[\]{}#]/g;function xc(t,e){return`${t}[${e}]`}i(xc,"itemScope");function zr(t){return`${t}{}`}i(zr,"reserveScope");var jr=class{static{i(this,"Scopes")}#e=new Map;#t=new Set;enter(e,n,r){let o=JSON.stringify([e,n,r]);if(this.#t.has(o))return;this.#t.add(o);let s=(this.#e.get(o)??0)+1;this.#e.set(o,s);let a=`${r.replace(Nk,encodeURIComponent)}${s===1?"":`#${s}`}`;return{path:e===""?a:`${e}/${a}`,leave:i(()=>{this.#t.delete(o)},"leave")}}};function ns(t,e){return e===void 0?0:(e.capacity===t?e.units:0)+ns(t,e.outer)}i(ns,"heldOf");var Pk=10*6e4,Ec=new Set(["units","wait","name"]);function Ic(t,e,n){if(typeof t!="string")return"reserve: its first argument is the name of a capacity";if(typeof e!="object"||e===null)return`reserve "${t}": its options are an object, such as {}`;let{name:r=t,units:o=1,wait:s}=e;if(!Se(r))return Ce("reserve");let a=`reserve "${r}"`;if(typeof n!="function")return`${a} has no function`;let d=Object.keys(e).find(u=>!Ec.has(u));if(d!==void 0)return`${a}: option "${d}" is not known in this version (known: ${[...Ec].join(", ")})`;if(!Number.isInteger(o)||o<1)return`${a}: units is a whole number from 1`;try{return{name:r,capacity:t,units:o,waitMs:s===void 0?Pk:V(s)}}catch(u){if(!(u instanceof b))throw u;return`${a}: ${u.message}${u.fix===void 0?"":`. ${u.fix}`}`}}i(Ic,"understandReserve");function vc(t,e){if(!Object.hasOwn(e,t))return`reserve: there is no capacity "${t.slice(0,100)}"; configured are ${Object.keys(e).join(", ")||"none"}`}i(vc,"whyNoCapacity");function Ac(t,{capacity:e,units:n},r,o){let s=`reserve "${t}": it asks for ${n} units`;if(n>r)return`${s}, and "${e}" has ${r}: it could never have them`;if(o+n>r)return`${s} inside a reservation of ${o}, and "${e}" has ${r}: it could never have them. Reserve all at once`}i(Ac,"whyNeverHad");var qk=6e4,Pn=100,Sc=new Set(["tries","backoff","timeout","effect","probe","undo"]);function Cc(t,e,n,r){if(!Se(t))return Ce("step");if(typeof e!="function")return`step "${t}" has no function`;let o=Object.keys(n??{}).find(s=>!Sc.has(s));if(o!==void 0)return`step "${t}": option "${o}" is not known in this version (known: ${[...Sc].join(", ")})`;try{return Lk(t,n??{},r)}catch(s){if(!(s instanceof b))throw s;return`step "${t}": ${s.message}${s.fix===void 0?"":`. ${s.fix}`}`}}i(Cc,"resolveStep");function Lk(t,e,n){let r=e.tries??1;if(!Number.isInteger(r)||r<1||r>Pn)return`step "${t}": tries is a whole number from 1 to ${Pn}`;let o=e.timeout===void 0?Math.min(qk,n/2):V(e.timeout);return o<=0||o>n?`step "${t}": a timeout of ${e.timeout} does not fit the function's limit of ${Math.floor(n/1e3)} s`:e.effect!==void 0&&e.effect!=="once"?`step "${t}": effect can only be "once"`:e.probe!==void 0&&(e.effect!=="once"||typeof e.probe!="function")?`step "${t}": a probe is a function, and belongs to a step with effect: "once"`:e.undo!==void 0&&typeof e.undo!="function"?`step "${t}": an undo is a function`:{tries:r,timeoutMs:o,once:e.effect==="once",probe:e.probe,undo:e.undo,backoff:ln(e.backoff)}}i(Lk,"resolved");var Rc=new Set(["tries","backoff","timeout"]);function $c(t,e,n,r){if(!Se(t))return Ce("transaction");if(typeof e!="function")return`transaction "${t}" has no function`;let o=Object.keys(n??{}).find(s=>!Rc.has(s));if(o!==void 0)return`transaction "${t}": option "${o}" is not known in this version (known: ${[...Rc].join(", ")})`;try{let s=Tk(n??{},r);return typeof s=="string"?`transaction "${t}": ${s}`:s}catch(s){if(!(s instanceof b))throw s;return`transaction "${t}": ${s.message}${s.fix===void 0?"":`. ${s.fix}`}`}}i($c,"resolveTransaction");function Tk(t,{transactionMs:e,functionMs:n}){let r=t.tries??1;if(!Number.isInteger(r)||r<1||r>Pn)return`tries is a whole number from 1 to ${Pn}`;let o=t.timeout===void 0?Math.min(e,n/2):V(t.timeout);if(o<=0||o>e)return`a timeout of ${t.timeout} is not taken: a transaction lasts ${e} ms at most, because others wait for what it has locked. Do what is slow in a step before it`;if(o>n)return`a timeout of ${t.timeout} does not fit the function's limit of ${Math.floor(n/1e3)} s`;let s=ln(t.backoff);return r>1&&Qe(s,r,1)>yt?`its backoff comes to delays above ${yt} ms, for which its worker would stay: give it a smaller max, or catch its failure and ctx.sleep before another one`:{tries:r,timeoutMs:o,once:!1,probe:void 0,undo:void 0,backoff:s}}i(Tk,"resolve");var Fr=class{static{i(this,"Asking")}#e;#t=new jr;constructor(e){this.#e=e}step(e,n,r){return this.#i("step",e,()=>{let o=Cc(e,n,r,this.#e.stepLimitMs);return typeof o=="string"?o:{name:e,step:o,run:n}})}transaction(e,n,r){return this.#i("transaction",e,()=>{let{stepLimitMs:o,transactionLimitMs:s}=this.#e,a=$c(e,n,r,{transactionMs:s,functionMs:o});return typeof a=="string"?a:{name:e,step:a,run:n}})}consent(e,n,r){let o=Object.keys(this.#e.deps.decisionSources);return this.#o("consent",()=>dc(e,n,o,r))}delegate(e,n,r,o){let{services:s}=this.#e.deps.delegation;return this.#o("delegate",()=>fc(e,n,r,o,s))}child(e,n,r){let{registry:o,queues:s}=this.#e.deps;return this.#o("child",()=>cc(e,n,r,o,s))}sleep(e,n){return this.#o("sleep",()=>uc(e,n,this.#e.now()))}signal(e,n){return this.#o("signal",()=>lc(e,n,this.#e.now()))}map(e,n,r,o){let s=this.#d("map","");if(s!==void 0)return s;let a=yc(e,n,r,o);if(typeof a=="string")return this.#l(a);let d=this.#t.enter(qn(),"map",a.name);if(d===void 0)return this.#c(q("duplicate_call",rs("map",a.name)));let u=_c(a,(l,c)=>{let m={hop:this.#e.hop,scope:xc(d.path,c),step:void 0,held:Gr()};return Re(m,async()=>r(l,c))}).finally(d.leave);return u.catch(()=>{}),u}reserve(e,n,r){let o=this.#d("reserve","");if(o!==void 0)return o;let[s,a]=[qn(),Gr()],d=Ic(e,n,r);if(typeof d=="string")return this.#l(d);let u=this.#u(s,`reserve "${d.name}"`);if(u!==void 0)return u;let{name:l,...c}=d,m=this.#t.enter(s,"reserve",l);if(m!==void 0&&Dc(zr(m.path),l))return this.#l(Oc(l));let f=m&&this.#e.calls.next(this.#e.epoch,s,"reserve",l);if(m===void 0||f===void 0)return this.#c(q("duplicate_call",rs("reserve",l)));let p=this.#e.calls.open(f,{step:void 0,wait:void 0,reserve:{...c,scope:zr(m.path),inside:ns(c.capacity,a)},start:i(()=>{let I=vc(d.capacity,this.#e.deps.capacities);I===void 0?this.#e.startReserve(p):this.#l(I)},"start")});this.#e.opened(p);let{units:w}=c,g=this.#n(p,m,{capacity:e,units:w,name:l,outer:a},r);return g.catch(()=>{}),g}async#n(e,n,r,o){let{outcome:s}=await e.result.promise;if(s!=="RESERVED")return n.leave(),{outcome:"UNAVAILABLE"};let a={hop:this.#e.hop,scope:zr(n.path),step:void 0,held:r};try{return{outcome:"RESERVED",value:await Re(a,async()=>await o())}}finally{await this.#r(e,a.scope),n.leave()}}#r({id:e},n){if(this.#e.hasEnded())return this.#m();let r={epoch:this.#e.epoch,scope:n,kind:"release",name:e.name,nth:1},o=this.#e.calls.open(r,{step:void 0,wait:void 0,releases:e,start:i(()=>{},"start")});return this.#e.opened(o),o.result.promise}refuseAll(e){this.#e.refuse(e)}restart(e){let n=this.#f("restart","");if(n!==void 0)return n;let r=this.#s("restart");if(r!==void 0)return r;let o=this.#e.calls.anyUndoable();return o!==void 0?this.#l(`ctx.restart was called after step "${o}", which has an undo: nobody could undo it after a restart. Do what is to be undone in a child, and restart around that`):(this.#e.decide({kind:"restarted",input:e}),et().promise)}#o(e,n){let r=ut()?.step===void 0?this.#s(e):void 0;if(r!==void 0)return r;let o=this.#i(e,e,n),s=!0,a=i(()=>{s=!1},"close");return o.then(a,a),wc(o,i(l=>{let c=`${l} over a durable wait: a replay has to find the same winner. Write ctx.first({ name: wait, \u2026 })`;this.#l(c)},"onRace"),i(()=>{let l=Gr();if(l===void 0||!s||this.#e.hasEnded())return;let c=`ctx.${os[e]} of before is awaited inside reservation "${l.name}": a run that waits holds nothing, so it would never end. Await it before ctx.reserve, or after that`;this.#l(c)},"onAwait"))}#i(e,n,r){let o=this.#d(e,String(n));if(o!==void 0)return o;let s=r();if(typeof s=="string")return this.#l(s);let a=this.#u(qn(),`${e} "${s.name}"`);if(a!==void 0)return a;if(Dc(qn(),s.name))return this.#l(Oc(s.name));let d=this.#e.calls.next(this.#e.epoch,qn(),e,s.name);if(d===void 0)return this.#c(q("duplicate_call",rs("call",s.name)));let u=this.#e.calls.open(d,"step"in s?{step:s.step,wait:void 0,start:i(()=>this.#e.start(u,s.run),"start")}:{step:void 0,wait:s.wait,start:i(()=>this.#a(u,s.wait),"start")});return this.#e.opened(u),u.result.promise}#a(e,{child:n}){n!==void 0&&this.#e.startChild(e,n)}#d(e,n){return this.#f(e,n)??(this.#e.hasEnded()?this.#m():void 0)}#m(){return this.#e.askedLate(),et().promise}#f(e,n){let r=ut()?.step;if(r===void 0)return;let s=`${e==="step"?`ctx.step("${n.slice(0,200)}")`:`ctx.${os[e]}`} was called inside step "${r}": call it in the workflow itself`;return this.#e.refuse(q("invalid_call",s,r)),Promise.reject(new Error(s))}#s(e){let n=Gr();if(n===void 0||this.#e.hasEnded())return;let o=`${`ctx.${os[e]}`} was called inside reservation "${n.name}": a run that waits holds nothing. Let the function of ctx.reserve return first, and call it after that`;return this.#l(o)}#u(e,n){let r=this.#e.bodies.endedAround(e);if(r===void 0)return;let o=`${n} was called after the function of reservation "${r}" had returned: await it inside`;return this.#l(o)}#l(e){return this.#c(q("invalid_call",e))}#c(e){return this.#e.refuse(e),et().promise}};function qn(){return ut()?.scope??""}i(qn,"scopeHere");var Nc=2e3;function Dc(t,e){return Buffer.byteLength(t)+Buffer.byteLength(e)>Nc}i(Dc,"isTooLong");function Oc(t){return`call "${t.slice(0,60)}": its name and the names of the maps and reservations around it are more than ${Nc} bytes long: give them shorter ones`}i(Oc,"tooLong");function Gr(){return ut()?.held}i(Gr,"heldHere");function rs(t,e){return`a ${t} "${e}" is open already: give ${t}s that run at the same time names of their own, or call them in the items of a ctx.map`}i(rs,"alreadyOpen");var os={child:"child",transaction:"transaction",consent:"consent",delegate:"delegate",sleep:"sleep",signal:"waitForSignal",restart:"restart",reserve:"reserve",map:"map"};var Ur=class{static{i(this,"Calls")}#e=new Map;#t=new Map;#n=new Map;#r=new Set;#o=new Map;asked(){return this.#r.size}closed(){return this.#r.size-this.#n.size}wasAsked(e){return this.#r.has(j(e))}next(e,n,r,o){let s=is({epoch:e,scope:n,name:o});if(this.#t.has(s))return;let a=j({epoch:e,scope:n,kind:r,name:o,nth:0}),d=(this.#e.get(a)??0)+1;return this.#e.set(a,d),{epoch:e,scope:n,kind:r,name:o,nth:d}}open(e,n){let r={id:e,key:j(e),result:et(),...n};this.#n.set(r.key,r),this.#r.add(r.key),this.#t.set(is(e),r.key);let{step:o}=r;return o?.undo!==void 0&&this.#o.set(r.key,{id:e,step:o}),r}undoable(e){return this.#o.get(e)}anyUndoable(){return this.#o.values().next().value?.id.name}find(e){return this.openByKey(j(e))}openByKey(e){return this.#n.get(e)}close(e){this.#n.delete(e.key),this.#t.delete(is(e.id))}openCalls(){return[...this.#n.values()]}};function is(t){return JSON.stringify([t.epoch,t.scope,t.name])}i(is,"placeOf");var Mk=new Set(["select","insert","update","delete","merge","with","values","table","truncate","lock","call","do","savepoint","release","explain","show","notify"]),jk=new Set(["statement_timeout","lock_timeout","transaction_timeout","idle_in_transaction_session_timeout","datestyle","session","role"]),zk=/\binto\s+(?:(?:local|global)\s+)?temp(?:orary)?\b|\bpg_temp\b/i,Gk=new Set(["begin","start","commit","end","abort","rollback","prepare"]),Fk="Let through are SELECT, INSERT, UPDATE, DELETE, MERGE, WITH, VALUES, TABLE, TRUNCATE, LOCK, CALL, DO, EXPLAIN, SHOW, NOTIFY, SAVEPOINT, RELEASE, ROLLBACK TO, SET LOCAL and SET CONSTRAINTS";function Pc(t){if(typeof t!="string")return"a statement is a text, with its values beside it: tx.query(text, values)";let[e,...n]=Uk(t,4);if(e===void 0)return"there is no statement in it";if(zk.test(t))return"a temporary table outlives the transaction, on a connection that others get: use a table, or WITH";if(Mk.has(e))return;let[r,o]=n;if(e==="set")return r==="local"&&jk.has(o??"")?`SET LOCAL ${o} is not let through: what the engine does in the transaction relies on it`:r==="local"||r==="constraints"?void 0:"SET would outlive the transaction, on a connection that others get: write SET LOCAL";if(!(e==="rollback"&&(r==="work"||r==="transaction"?o:r)==="to"))return Gk.has(e)?`${e.toUpperCase()} would begin, end or leave the transaction, which ctx.transaction does itself: return from the function to commit, throw to roll back, and use SAVEPOINT and ROLLBACK TO for a part of it`:`${e.slice(0,40).toUpperCase()} is not let through inside of ctx.transaction. ${Fk}; for others use a step with a connection of its own`}i(Pc,"whyNotSent");function Uk(t,e){let n=[],r=0;for(;n.length<e;){if(r=Wk(t,r),n.length===0&&t[r]==="("){r+=1;continue}let o=/^[a-z_\u0080-\uffff][\w$\u0080-\uffff]*/i.exec(t.slice(r,r+64))?.[0];if(o===void 0)break;n.push(o.toLowerCase()),r+=o.length}return n}i(Uk,"wordsOf");function Wk(t,e){let n=e;for(;;)if(/\s/.test(t[n]??""))n+=1;else if(t.startsWith("--",n)){let r=/[\n\r]/.exec(t.slice(n));if(r===null)return t.length;n+=r.index+1}else if(t.startsWith("/*",n))n=Bk(t,n);else return n}i(Wk,"afterSpace");function Bk(t,e){let n=0,r=e;do{let o=t.startsWith("/*",r)?1:t.startsWith("*/",r)?-1:0;n+=o,r+=o===0?1:2}while(n>0&&r<t.length);return r}i(Bk,"afterComment");var Wr=1e3,Kk=250,Br=class{static{i(this,"HandedOut")}#e;#t;#n;#r=Promise.withResolvers();#o;#i;#a;#d=Promise.resolve();#m;constructor(e){this.#e=e,this.#t=e.nowMs(),this.#m=e.limitMs,this.#r.promise.catch(()=>{}),this.#n=setTimeout(()=>this.stop(this.#c()),e.limitMs)}context({idempotencyKey:e,signal:n,log:r}){return{idempotencyKey:e,signal:n,log:r,query:i((o,s)=>this.#f(o,s),"query")}}get stoppedBy(){return this.#i===void 0?void 0:this.#o}get failure(){return this.#a}stop(e){this.#i===void 0&&(this.#o=e,this.#r.reject(e),this.#i=this.#e.begun.rollback(Wr))}async close(){let{name:e}=this.#e;this.#o??=new Error(`transaction "${e}" is over, because its function has ended: await what it sends inside of it`),await Promise.race([this.#d,this.#r.promise.catch(()=>{})]),this.#i!==void 0&&await this.#i}settle(){return clearTimeout(this.#n),this.#i===void 0?Math.max(1,this.#l()):0}async rollBack(){clearTimeout(this.#n),await(this.#i??this.#e.begun.rollback(Wr))}#f(e,n=[]){if(this.#o!==void 0)return Promise.reject(this.#o);let r=Pc(e);if(r!==void 0)return Promise.reject(new $e(`transaction "${this.#e.name}": ${r}`));let o=this.#d.then(()=>this.#s(e,n));return this.#d=o.catch(()=>{}),Promise.race([o,this.#r.promise])}async#s(e,n){let{ledger:r,begun:o}=this.#e;try{if(this.#i!==void 0)throw this.#o;await this.#u();let{rows:s,rowCount:a}=await r.transactions.ask(o,e,n);return this.#a=void 0,{rows:s,rowCount:a}}catch(s){let a=s instanceof T?s.cause??s:s;throw this.#a??={error:a},a}}async#u(){let e=this.#l();this.#m-e<=Kk||(await this.#e.ledger.transactions.limit(this.#e.begun,e),this.#m=e)}#l(){return this.#t+this.#e.limitMs-this.#e.nowMs()}#c(){let{name:e,limitMs:n}=this.#e;return new DOMException(`transaction "${e}" did not end within ${n} ms, and was rolled back`,"TimeoutError")}};function Kr(t){let e=De(t);return e==="40001"||e==="40P01"}i(Kr,"isInTheWay");function Hr(t){let e=De(t);return e!==void 0?/^(?:57P|08)/.test(e)||e==="25P03":!(t instanceof TypeError||t instanceof RangeError)}i(Hr,"isConnectionLost");var Vt=i(t=>({kind:"stops",end:t}),"stops");async function qc(t,e,n){let{call:r,claim:o,tx:s,begun:a,value:d,tries:u,tookMs:l}=t,c=await e.prepare(r,{outcome:"ok",value:d,tries:u},l),m=s.settle();try{if(m===0)return{kind:"failed",failure:v(s.stoppedBy??new Error("it was rolled back"))};if("end"in c)return Vt(c.end);let{entry:f,text:p}=c,w=await n.ledger.transactions.commitIfClaimed(a,o,f,m);return w.kind==="unknown"?await Jk(t,f,e,n):w.kind!=="committed"?Hk(r,w,s):(await e.keep(f,w.ordinal),{kind:"kept",text:p,tries:u,completedAt:w.completedAt})}catch(f){return Vt({kind:"unknown",error:f})}finally{await s.rollBack()}}i(qc,"commitTransaction");function Hk(t,e,n){if(e.kind==="fenced")return Vt({kind:"fenced"});if(e.kind==="left"){let a=`transaction "${t.name}" was ended by one of its own statements: what it did before may be committed, without an entry in the journal. Let ctx.transaction begin and end it`;return Vt(q("invalid_call",a,t.name))}let{at:r,error:o}=e;if(o.sqlState==="25P02"||/answered ROLLBACK/.test(o.message)){let a=n.failure?.error,d={...v(a??o),message:`a statement failed, and the function returned all the same: nothing can be committed after it, so all was rolled back. Roll back to a SAVEPOINT to go on after a failure (it was: ${v(a).message.slice(0,500)})`};return{kind:Kr(a)||a!==void 0&&Hr(a)?"again":"failed",failure:d}}let s=v(o.cause??o);return o.kind!=="defect"&&o.kind!=="schema"?{kind:"again",failure:s}:r==="commit"||o.sqlState==="42501"?{kind:"failed",failure:s}:Vt({kind:"unknown",error:o})}i(Hk,"withoutEntry");async function Jk(t,e,n,r){let{call:o,claim:s}=t,a=await n.insist(()=>r.ledger.transactions.readBack(s,o));if(a===null)return{kind:"again",failure:{name:"Error",message:"the connection was lost at COMMIT, and nothing was committed"}};if(a.token!==s.token)return Vt({kind:"fenced"});let d=await Vk(a,s,r);return await n.keep(e,a.ordinal),{kind:"kept",text:d,tries:a.tries,completedAt:a.completedAt}}i(Jk,"readBack");async function Vk({resultText:t,resultDigest:e,ordinal:n},{tenantId:r,runId:o},{codec:s}){if(t!==null)return ue(t,e,`journal entry ${n}`,a=>s.decode(a,{tenantId:r,runId:o,kind:"result"}))}i(Vk,"textOf");var Yk=5,Qk=20;async function Lc(t,e){let{options:n,hopSignal:r,log:o,call:s}=t;try{for(let a=1;;a+=1){let d=await Xk(t,a,e);if(d.outcome==="abandoned")return{outcome:"abandoned",tries:a};if(d.outcome!=="failed")return d;let{failure:u}=d;if(d.final||a>=n.tries)return{outcome:"error",failure:u,tries:a};if(o.warn("a try of a transaction failed",{step:s.name,try:a,error:u.name}),await Bt(Qe(n.backoff,a+1,e.chance()),r),r.aborted)return{outcome:"abandoned",tries:a}}}catch(a){return{outcome:"stops",end:{kind:"unknown",error:a}}}}i(Lc,"runTransaction");async function Xk(t,e,n){let{hopSignal:r,log:o,call:s}=t;for(let a=1;;a+=1){let d=await Zk(t,e,n);if(d.outcome!=="again")return d;if(r.aborted)return{outcome:"abandoned"};if(a>=Yk)return{outcome:"failed",failure:d.failure,final:!1};if(o.info("a transaction was rolled back and is tried again",{step:s.name,error:d.failure.name}),await Bt(Qk*2**a*(.5+n.chance()),r),r.aborted)return{outcome:"abandoned"}}}i(Xk,"oneTry");async function Zk(t,e,n){let{call:r,claim:o,options:s,hopSignal:a}=t,d=await eb(t,n);if("outcome"in d)return d;let u=n.settings.leaseHeld?xt:s.timeoutMs,{ledger:l,clock:c,faults:m}=n,f=new Br({name:r.name,ledger:l,begun:d,limitMs:u,nowMs:i(()=>c.monotonicMs(),"nowMs")}),p=i(()=>f.stop(new Error(`transaction "${r.name}": its run does not go on here`)),"stop");a.addEventListener("abort",p,{once:!0}),a.aborted&&p();try{let w=i(C=>t.run(f.context(C)),"run"),g=await dt({name:r.name,idempotencyKey:Je(o.firstRunId,r),options:{timeoutMs:u},run:w,hopSignal:a,log:t.log,overdueAfterMs:n.settings.overdueAfterMs,onOverdue:i(()=>Et(t,n),"onOverdue")},e);if(await f.close(),await m("worker.after-transaction",r.name),f.stoppedBy!==void 0)return a.aborted?{outcome:"abandoned"}:tb(f.stoppedBy);if(g.outcome==="error")return nb(g.thrown,g.failure,f);let I=await t.commit({call:r,claim:o,begun:d,tx:f,value:g.value,tries:e});return I.kind==="failed"&&a.aborted?{outcome:"abandoned"}:rb(I)}finally{a.removeEventListener("abort",p),await f.rollBack()}}i(Zk,"oneCall");async function eb(t,e){let{call:n,claim:r,options:o,invocation:s,hopSignal:a,log:d}=t,{settings:u,ledger:l}=e,c=i(()=>Rn(n.name,o.timeoutMs,r,e,s),"notNow"),m=i(p=>({outcome:"stops",end:p}),"stops"),f=i(()=>s.remainingMs()-u.settleReserveMs-o.timeoutMs,"turnMs");await e.faults("worker.before-transaction",n.name);try{let p=await he(async()=>a.aborted||c()!==void 0?null:l.transactions.begin(u.leaseHeld?xt:o.timeoutMs,Math.max(0,Math.min(xt,f()))),{chance:e.chance,mayGoOn:i(()=>!a.aborted&&c()===void 0,"mayGoOn"),onPause:i(w=>d.warn("the ledger is out of reach; a transaction waits",{kind:w.kind}),"onPause")});if(p!==null&&!a.aborted&&c()===void 0)return p;await p?.rollback(Wr)}catch(p){if(!(p instanceof T)||c()===void 0)throw p}return a.aborted?{outcome:"abandoned"}:m(c()??{kind:"yielded",why:"time"})}i(eb,"begin");function tb(t){return{outcome:"failed",failure:v(t),final:!1}}i(tb,"late");function nb(t,e,{failure:n}){return Yi(t)?{outcome:"failed",failure:e,final:!0}:n!==void 0&&(Kr(n.error)||Hr(n.error))?{outcome:"again",failure:e}:{outcome:"failed",failure:e,final:!1}}i(nb,"failureOf");function rb(t){switch(t.kind){case"kept":return{outcome:"kept"};case"stops":return{outcome:"stops",end:t.end};case"again":return{outcome:"again",failure:t.failure};case"failed":return{outcome:"failed",failure:t.failure,final:!1}}}i(rb,"ofSealed");var Jr=class{static{i(this,"InFlight")}#e;#t;#n=[];#r=0;constructor(e,n){this.#e=e,this.#t=n}start(e,n){let{claim:r,deps:o,invocation:s,nextTries:a}=this.#t,d=e.step;if(d===void 0)return;let u=a.before(e);if(u===void 0)return;let l=Rn(e.id.name,d.timeoutMs,r,o,s);if(l!==void 0)return l;e.wait=void 0;let c=o.clock.monotonicMs(),m={hop:this.#e,scope:e.id.scope,step:e.id.name,held:void 0};this.track(e,Re(m,()=>e.id.kind==="transaction"?this.#i(e,d,n,c):this.#o(e,d,n,u)))}track(e,n){let{deps:r,ended:o}=this.#t;this.#r+=1;let s=r.clock.monotonicMs();n.then(a=>{this.#r-=1,this.#n.push({call:e,end:a,tookMs:r.clock.monotonicMs()-s}),o()})}#o(e,n,r,o){let{claim:s,deps:a,invocation:d,effects:u,hopSignal:l,handsOver:c}=this.#t,m=a.logFor(s),f={call:e.id,claim:s,options:n,hopSignal:l,log:m,effects:u,triesBefore:o,invocation:d,handsOver:c};return Yl({...f,run:r},a)}#i(e,n,r,o){let{claim:s,deps:a,invocation:d,hopSignal:u,ended:l}=this.#t;return Lc({call:e.id,claim:s,run:r,options:n,hopSignal:u,log:a.logFor(s),invocation:d,commit:i(c=>new Promise(m=>{let f=a.clock.monotonicMs()-o,p=i(async w=>{let g=w===void 0?{kind:"stops",end:{kind:"fenced"}}:await qc({...c,tookMs:f},w,a);return m(g),g},"commit");this.#n.push({call:e,end:{outcome:"commits",commit:p},tookMs:f}),l()}),"commit")},a)}takeFinished(){return this.#n.shift()}hasFinished(){return this.#n.length>0}isEmpty(){return this.#r===0&&!this.hasFinished()}};var Vr=class{static{i(this,"JournalWriter")}#e;#t;#n;#r;#o;constructor(e,n,r,o){this.#r=o,this.#e=e,this.#t=r,this.#o=e.journalBytes,this.#n=[...n]}entries(){return this.#n}adopt(e,n,r,o){this.#o+=o===null?0:Buffer.byteLength(o),this.#n.push({...e,ordinal:n,outcome:"ok",digest:r})}async reject(e,n){try{let{tenantId:r,runId:o}=this.#e,s=Z(n.outcome==="ok"?n.value:n.failure),a=s===void 0?null:await this.#t.codec.encode(s,{tenantId:r,runId:o,kind:"result"});await this.#t.ledger.evidence.reject(this.#e,{call:j(e),outcome:n.outcome,bodyText:a,bodyDigest:a===null?null:L(a)}),await this.#i(e,n);return}catch(r){return r}}async#i(e,n){if(n.outcome!=="ok"||n.closesIntent!==!0)return;let{epoch:r,scope:o,kind:s,name:a,nth:d}=e,u=`[${[r,o,s,a,d].map(m=>JSON.stringify(m)).join(", ")}]`,{token:l}=this.#e;await this.#t.ledger.items.acknowledge(this.#e,{kind:"effect",key:u,by:"worker",words:"it has happened, says the worker that made the call",token:l,effect:"happened"})}async write(e,n,r){let o=await this.prepare(e,n,r);if("end"in o)return{written:!1,end:o.end};try{let s=await this.insist(()=>this.#t.ledger.journal.appendIfClaimed(this.#e,o.entry));return s===null?{written:!1,end:{kind:"fenced"}}:(await this.keep(o.entry,s.ordinal),{written:!0,text:o.text,completedAt:s.completedAt})}catch(s){return{written:!1,end:{kind:"unknown",error:s}}}}async prepare(e,n,r){try{return await this.#a(e,n,r)}catch(o){if(!(o instanceof Q))return{end:{kind:"unknown",error:o}};let s=`the result of ${e.kind} "${e.name}": ${o.message}`;return{end:q(o.reason,s,e.name)}}}async#a(e,n,r){let{tenantId:o,runId:s}=this.#e,a=Z(n.outcome==="ok"?n.value:n.failure),d=a===void 0?null:await this.#t.codec.encode(a,{tenantId:o,runId:s,kind:"result"}),u=d===null?0:Buffer.byteLength(d);if(this.#o+u>Ye)throw new Q("too_large",`it would bring the run's journal above ${Ye} bytes`);return{entry:{...e,outcome:n.outcome,resultText:d,resultDigest:d===null?null:L(d),resultBytes:u,tries:n.tries,tookMs:r,closesIntent:n.outcome==="ok"&&n.closesIntent===!0},text:a}}insist(e){return he(e,this.#r)}async keep(e,n){let{epoch:r,scope:o,kind:s,name:a,nth:d,outcome:u,resultDigest:l}=e;this.#o+=e.resultBytes,this.#n.push({epoch:r,scope:o,kind:s,name:a,nth:d,ordinal:n,outcome:u,digest:l}),await this.#t.faults("worker.after-journal",a)}};async function Tc({call:t,end:e,tookMs:n},r){let{word:o,writer:s,nextTries:a,log:d}=r;if(e.outcome==="stops")return o.say(e.end);if(e.outcome==="abandoned"||e.outcome==="kept"||e.outcome==="stands")return;if(e.outcome==="commits")return ob(t,e,r);if(e.outcome==="asks"||e.outcome==="releases")return r.turn(t,e);if(e.outcome==="later")return a.again(t,new Date(r.ledgerNowMs()+e.delayMs),e.tries);if(!o.mayWrite)return ib(t,e,r);let u=await s.write(t.id,e,n);if(!u.written)return u.end.kind==="fenced"&&await s.reject(t.id,e),o.say(u.end);e.outcome==="error"&&o.end?.kind==="returned"&&d.warn("a step failed that the workflow did not wait for",{step:t.id.name});let{outcome:l,tries:c}=e;r.resolve(t,{outcome:l,text:u.text??null,tries:c,completedAt:u.completedAt}),await We()}i(Tc,"keep");async function ob(t,{commit:e},n){let r=await e(n.word.mayWrite?n.writer:void 0);if(r.kind==="stops")return n.word.say(r.end);if(r.kind!=="kept")return;let{text:o,tries:s,completedAt:a}=r;n.resolve(t,{outcome:"ok",text:o??null,tries:s,completedAt:a}),await We()}i(ob,"commit");async function ib(t,e,{writer:n,log:r}){let o=await n.reject(t.id,e),s=o===void 0?void 0:v(o).message.slice(0,200),a=t.id.name;r.warn("a step ended after its claim was gone; its result is rejected evidence",{step:a,error:s})}i(ib,"reject");var Yr=class{static{i(this,"LastWord")}#e=new AbortController;#t;#n;#r=!0;#o=!1;constructor(e){this.#t=e}get signal(){return this.#e.signal}get end(){return this.#n}get handsOver(){return this.#n!==void 0&&bt(this.#n)}get mayWrite(){return this.#r}get refused(){return this.#o}say(e){(this.#n===void 0||Wl(e,this.#n))&&(this.#n=e),(e.kind==="fenced"||e.kind==="unknown")&&(this.#r=!1,this.#t.fenced()),e.kind!=="returned"&&!bt(e)&&this.abort("the run does not go on here"),this.#t.said()}refuse(e){this.#o=!0,this.say(e)}insist(e){this.#n=e}abort(e){this.#e.abort(new DOMException(e,"AbortError"))}};var Qr=class{static{i(this,"Bodies")}#e=new Map;#t=new Map;resolved(e,n,r){let{reserve:o,releases:s}=e;s!==void 0&&(this.#e.delete(e.id.scope),this.#t.set(e.id.scope,e.id.name));let a=n??{};if(o===void 0||a.outcome!=="RESERVED")return;let d=r?"held":"to retake";this.#e.set(o.scope,{call:e,reserve:o,had:a,state:d,heldBack:[]})}open(){return[...this.#e.values()]}of(e){return this.#e.get(e)}around(e){return this.#e.size===0?[]:Xr(e).flatMap(n=>this.#e.get(n)??[])}endedAround(e){let n=this.around(e).find(({state:o})=>o==="ended");if(n!==void 0)return n.call.id.name;if(this.#t.size===0)return;let r=Xr(e).find(o=>this.#t.has(o));return r===void 0?void 0:this.#t.get(r)}mismatch(){for(let{call:e,reserve:n,had:r}of this.#e.values()){if(r.capacity===n.capacity&&r.units===n.units)continue;let o=e.id.name;return q("journal_mismatch",`reserve "${o}" had ${String(r.units)} of "${String(r.capacity)}", and the code asks for ${n.units} of "${n.capacity}" now: its function is not over`,o)}}};function Xr(t){let e=t.split("/");return e.map((n,r)=>e.slice(0,r+1).join("/"))}i(Xr,"pathTo");function Mc(t,e){return t===e||t.startsWith(`${e}/`)}i(Mc,"isWithin");var ss=2**31-1,jc=Gc({outcome:"UNAVAILABLE"}),Zr=class{static{i(this,"Reservations")}#e;#t=new Map;#n=new Map;#r=!1;#o=!1;constructor(e){this.#e=e}hasWaited(){return this.#o}start(e){this.#e.word.end===void 0&&this.#d(e,!1)}goLive(){if(this.#e.word.end===void 0)for(let e of this.#e.bodies.open())e.state==="to retake"&&this.#a(e)}begin(e){e.releases===void 0&&!this.#i(e)&&e.start()}#i(e){let{bodies:n,effects:r,word:o}=this.#e,s=n.around(e.id.scope).find(({state:a})=>a!=="held");return s===void 0||o.end?.kind==="restarted"&&r.of(e.id).openIntent!==void 0?!1:(s.heldBack.push(e),s.state==="to retake"&&this.#a(s),!0)}startReleases(){let{bodies:e,inFlight:n,openCalls:r,word:o}=this.#e;if(o.end!==void 0||e.open().length===0)return;let s=r(),a=sb(s);for(let d of s){let u=d.releases===void 0?void 0:e.of(d.id.scope);u===void 0||u.state==="ended"||u.state==="retaking"||(a.get(d.id.scope)??0)>1||(u.state="ended",n.track(d,Promise.resolve({outcome:"releases"})))}}stop(){this.#r=!0;for(let{wake:o}of this.#t.values())o();let{bodies:e,effects:n,word:r}=this.#e;if(r.end?.kind==="restarted")for(let{heldBack:o}of e.open()){let s=o.filter(({id:a})=>n.of(a).openIntent!==void 0);for(let a of s)o.splice(o.indexOf(a),1),a.start()}}async turn(e,{outcome:n}){try{await(n==="releases"?this.#g(e):this.#m(e))}catch(r){this.#e.word.say({kind:"unknown",error:r})}}yieldsInTime(e){let{bodies:n,deps:r,inFlight:o,invocation:s,word:a}=this.#e;if(a.end!==void 0||n.open().length===0||!o.isEmpty())return;let{residentReserveMs:d,settleReserveMs:u}=r.settings,l=e.map(({wait:f})=>f?.dueAt?.getTime()??0);if(l.length>0&&d===0){let f=new Date(Math.min(...l));return setTimeout(()=>a.say({kind:"given_back",dueAt:f,why:"its next try is due later"}))}let c=Math.max(0,s.remainingMs()-u),m=l.length>0?"units":"time";return setTimeout(()=>a.say({kind:"yielded",why:m}),Math.min(c,ss))}#a(e){if(this.#e.bodies.around(e.call.id.scope).some(({state:o})=>o!=="held"))return;let n=this.#e.openCalls().filter(({id:o})=>Mc(o.scope,e.reserve.scope)),r=i(({id:o,releases:s})=>s!==void 0&&o.scope===e.reserve.scope,"isItsEnd");n.length>0&&n.every(r)||(e.state="retaking",this.#d(e.call,!0))}#d(e,n){let{deps:r,inFlight:o}=this.#e,s=r.clock.monotonicMs();this.#t.set(e.key,{reservationId:r.ids.next(),sinceMs:s,retake:n,askedAtMs:0,waits:!1,line:void 0,wake:i(()=>{},"wake")}),o.track(e,Promise.resolve({outcome:"asks"}))}async#m(e){let{deps:n,persistence:r,word:o}=this.#e,{reserve:s,id:a}=e,d=this.#t.get(e.key);if(s===void 0||d===void 0)return;if(o.end!==void 0)return this.#p(d);await n.faults("worker.before-reserve",a.name);let{capacity:u,units:l,inside:c}=s,m=Gc({outcome:"RESERVED",capacity:u,units:l}),{reservationId:f,retake:p}=d,w={reservationId:f,call:a,capacity:u,units:l,inside:c,retake:p,reserved:m,unavailable:jc},g=await he(()=>this.#f({...w,waitSeconds:s.waitMs/1e3}),r);if(await n.faults("worker.after-reserve",a.name),g===null)return o.say({kind:"fenced"});if(g.kind==="waits")return this.#u(e,s,d,g);if(this.#t.delete(e.key),zc(d),g.kind==="unknown_capacity")throw new TypeError(`the ledger has no capacity "${u}"`);let I=g.kind==="held"?m:jc;if(g.entry===null)return this.#s(e);this.#e.writer.adopt(a,g.entry.ordinal,I.digest,I.text),await this.#e.resolve(e,I.text,g.entry.completedAt)}async#f(e){let{ledger:n,capacities:r}=this.#e.deps,o=await n.reservations.takeIfClaimed(this.#e.claim,e);return o?.kind!=="unknown_capacity"?o:(await n.capacities.add(r),n.reservations.takeIfClaimed(this.#e.claim,e))}#s(e){let n=this.#e.bodies.of(e.reserve?.scope??"");if(n!==void 0){n.state="held",this.goLive();for(let r of n.heldBack.splice(0))this.begin(r)}}async#u(e,n,r,o){let{claim:s,deps:a,invocation:d,inFlight:u,bodies:l,word:c}=this.#e,{reservePollMs:m,residentReserveMs:f,settleReserveMs:p}=a.settings,{capacity:w,waitMs:g}=n;this.#o=!0,r.waits=!0,r.askedAtMs=o.askedAt.getTime();let I=this.#l(e,n,o);if(I!==void 0&&!r.retake)return c.refuse(q("invalid_call",I)),this.#p(r);let C=i(ee=>{let ge=new Date(fe(s,a,d)+ee);return c.say({kind:"given_back",dueAt:ge,why:`it waits for units of ${w}`}),this.#p(r)},"givenBack"),$=g-o.waitedSeconds*1e3;if(r.retake&&$<=0&&($n(s,`reservation_waits: ${w}`,a.logFor(s),a),u.isEmpty()&&l.open().every(({state:ge})=>ge!=="held")))return C(at);if(a.clock.monotonicMs()-r.sinceMs>=f)return C(m);n.inside+n.units>o.allUnits?zc(r):r.line===void 0&&this.#c(e,w,r);let K=r.line===void 0||r.line[0]===r,M=m*(.75+a.chance()/2),H=K?M:$>0?$:ss;if(K&&d.remainingMs()-H<=p)return c.say({kind:"yielded",why:"units"}),this.#p(r);u.track(e,this.#h(r,H))}#l(e,n,{allUnits:r}){let o=this.#e.deps.capacities[n.capacity]??0;return Ac(e.id.name,n,Math.max(r,o),n.inside)}#c(e,n,r){let o=this.#e.bodies.around(e.id.scope).at(-1)?.reserve.scope??"",s=JSON.stringify([n,o]),a=this.#n.get(s)??[];this.#n.set(s,a);let d=a.findIndex(({askedAtMs:u})=>u>r.askedAtMs);a.splice(d===-1?a.length:d,0,r),r.line=a}#h(e,n){return new Promise(r=>{let o=i(()=>{clearTimeout(s),e.wake=()=>{},r({outcome:"asks"})},"go"),s=setTimeout(o,Math.min(n,ss));e.wake=o,this.#r&&o()})}async#p(e){let{claim:n,deps:r,persistence:o,word:s}=this.#e;if(!e.waits||!s.mayWrite)return;for(let d of this.#t.values())d.waits=!1;await he(()=>r.ledger.reservations.withdrawIfClaimed(n),o)||s.say({kind:"fenced"})}async#g(e){let{claim:n,deps:r,persistence:o,writer:s,resolve:a,word:d}=this.#e;if(e.releases===void 0||d.end!==void 0)return;let u=e.releases;await r.faults("worker.before-release",e.id.name);let l=await he(()=>r.ledger.reservations.releaseIfClaimed(n,u,e.id),o);if(await r.faults("worker.after-release",e.id.name),l===null)return d.say({kind:"fenced"});s.adopt(e.id,l.ordinal,null,null),await a(e,null,l.completedAt)}};function Gc(t){let e=Z(t)??"";return{text:e,digest:L(e)}}i(Gc,"stored");function zc(t){let{line:e}=t;e!==void 0&&(e.splice(e.indexOf(t),1),t.line=void 0,e[0]?.wake())}i(zc,"leave");function sb(t){let e=new Map;for(let{id:n}of t)for(let r of Xr(n.scope))e.set(r,(e.get(r)??0)+1);return e}i(sb,"countWithin");var eo=class{static{i(this,"NextTries")}#e;#t;#n;#r=new Map;#o=new Set;#i=!1;constructor(e,n,r){this.#e=e,this.#t=n,this.#n=r}before(e){let n=this.#r.get(e.key);if(n!==void 0)return n;let{triesBefore:r,dueAt:o}=this.#e.of(e.id);if(o===null||o.getTime()<=this.#t())return r;this.#a(e,o,r)}again(e,n,r){this.#i=!0,this.#a(e,n,r)}hasTried(){return this.#i}#a(e,n,r){e.wait={owner:"timer",dueAt:n,tries:r},this.#r.set(e.key,r);let o=setTimeout(()=>{this.#o.delete(o),e.start(),this.#n()},Math.min(2147483647,Math.max(0,n.getTime()-this.#t())));this.#o.add(o),this.#n()}stop(){for(let e of this.#o)clearTimeout(e)}};async function Uc(t,e){await We();for(let n of t){if(Fc(e))return;let r=await ab(n,e);if(r===void 0){let o=e.openCalls().map(s=>be(s.id));return Fc(e)?void 0:(e.missed(n,o),q("journal_mismatch",`journal entry ${n.ordinal} is ${be(n)}, but the code ${o.length===0?"does not ask for it":`asks for ${o.join(", ").slice(0,1e3)}`}: the workflow's code has changed or is not deterministic`))}e.resolve(r,n),await We()}}i(Uc,"replay");function Fc(t){let e=t.end();return t.refused()||e!==void 0&&e.kind!=="returned"&&e.kind!=="failed"}i(Fc,"stops");async function ab(t,e){let n=e.nowMs();for(;;){let r=e.find(t);if(r!==void 0)return r;if(e.end()!==void 0||e.nowMs()-n>e.patienceMs)return;await We()}}i(ab,"askedFor");async function Wc(t){if(!t.still())return!1;let e=t.nowMs()+t.patienceMs,[n,r]=[t.asked(),t.nowMs()];for(;;){if(await kc(),!t.still())return!1;if(n!==t.asked()&&([n,r]=[t.asked(),t.nowMs()]),!(t.nowMs()<r+t.restMs)&&(t.nowMs()>=e||t.hasAll()&&!bc()))return!0}}i(Wc,"standsStill");var Bc=0,to=class{static{i(this,"Streaming")}#e;#t;#n;#r=!1;#o=!1;constructor(e,n,r){this.#e={tenantId:e.tenantId,runId:e.runId,enqueueSeq:e.seq},this.#t=n,this.#n=r}say(e,n,r,o){if(this.#r)return;if(!Se(e))return o(q("invalid_call",Ce("channel of ctx.stream")));if(typeof n!="string")return o(q("invalid_call",`ctx.stream("${e}", \u2026) takes a text: write JSON.stringify(value)`));if(!r())return;if(n.length>Jn||Buffer.byteLength(n)>Jn)return this.#a("a chunk of ctx.stream is too large, and was dropped",{channel:e,units:n.length});Bc+=1;let s={...this.#e,number:Bc,channel:e,chunk:n};this.#i(()=>this.#t.write(s))}end(){this.#r||(this.#r=!0,this.#i(()=>this.#t.end(this.#e)))}#i(e){try{e()}catch(n){this.#a("the live stream does not take what a run says",{error:v(n).name})}}#a(e,n){this.#o||(this.#o=!0,this.#n.warn(e,n))}};function Kc(t,e,n){e.warn("the code waits for something that is no step and no wait, perhaps for ever"),$n(t,"code_overdue: it waits for what is no step and no wait",e,n)}i(Kc,"tellOfStandstill");function Hc(t,e){for(let{id:n}of t)e.warn("a step has further tries that the workflow did not wait for",{step:n.name})}i(Hc,"tellOfDropped");function Vc(t){let{runId:e,firstRunId:n,agent:r,requestedBy:o,requestedRoles:s,deadlineAt:a,journalBytes:d}=t.claim,{grants:u,resources:l}=t.held;d>Ye&&t.asking.refuseAll(q("too_large",cb));let c=new as(n,t.claim.epoch);return{runId:e,agent:r,requestedBy:o,authority:Object.freeze({subject:o,roles:Object.freeze([...s])}),grant:i(m=>db(m,u),"grant"),resources:Object.freeze(l),deadline:a===null?void 0:new Date(a),abortSignal:t.abortSignal,log:lb(t),step:i((m,f,p)=>t.asking.step(m,f,p),"step"),transaction:i((m,f,p)=>t.asking.transaction(m,f,p),"transaction"),consent:i((m,f)=>t.asking.consent(m,f,o),"consent"),delegate:i((m,f,p,w)=>t.asking.delegate(m,f,p,w),"delegate"),child:i((m,f,p)=>t.asking.child(m,f,p),"child"),sleep:i((m,f)=>t.asking.sleep(m,f),"sleep"),waitForSignal:i((m,f)=>t.asking.signal(m,f),"waitForSignal"),map:i((m,f,p,w)=>t.asking.map(m,f,p,w),"map"),reserve:i((m,f,p)=>t.asking.reserve(m,f,p),"reserve"),first:ub,restart:i(m=>t.asking.restart(m),"restart"),now:i(()=>new Date(t.now()),"now"),stream:i((m,f)=>t.stream(m,f),"stream"),random:i(()=>Jc("random",()=>c.here().random()),"random"),uuid:i(()=>Jc("uuid",()=>c.here().uuid()),"uuid")}}i(Vc,"workflowContext");var as=class{static{i(this,"RandomStreams")}#e;#t;#n=new Map;constructor(e,n){this.#e=e,this.#t=n}here(){let e=ut()?.scope??"",n=this.#n.get(e);if(n!==void 0)return n;let r=new en(this.#e,this.#t,e);return this.#n.set(e,r),r}};function db(t,e){let n=Object.hasOwn(e,t)?e[t]:void 0;if(n!==void 0)return n;let r=Object.keys(e).join(", ")||"nothing";throw new $e(`ctx.grant("${String(t)}"): the workflow lists ${r}; add the name to its grants`)}i(db,"grantOf");function ub(t){let e=Object.entries(t);return e.length===0?Promise.reject(new $e("ctx.first({}) would wait for ever: give it named waits")):new Promise((n,r)=>{for(let[o,s]of e)s.then(a=>n({winner:o,value:a}),r)})}i(ub,"first");function Jc(t,e){let n=ut()?.step;if(n===void 0)return e();throw new $e(`ctx.${t}() was called inside step "${n}": draw outside, and use the value inside`)}i(Jc,"outsideOfSteps");function lb(t){let e=i(n=>(r,o)=>{t.isNew()&&t.log[n](r,o)},"only");return{debug:e("debug"),info:e("info"),warn:e("warn"),error:e("error")}}i(lb,"whileLive");var cb=`what the run waited for has brought its journal above ${Ye} bytes: ctx.restart goes on with an empty one`;var lt=class{static{i(this,"Hop")}#e;#t;#n;#r;#o;#i;#a;#d;#m;#f;#s=new Yr({said:i(()=>{this.#p.stop(),this.#_.resolve()},"said"),fenced:i(()=>this.#f.end(),"fenced")});#u=new Ur;#l;#c;#h=new Qr;#p;#g;#y;#k;#b;#w=!1;#x=!1;#S;#C=!1;#_=et();constructor(e,n,r,o,s,a){this.#e=e,this.#t=n,this.#i=r.journal,this.#g=r.effects,this.#y=r.arms,this.#k=r.seen,this.#n=o,this.#r=s,this.#o=a,this.#a=o.logFor(e);let d=i(()=>fe(e,o,s),"nowMs");this.#l=new eo(r.retries,d,()=>this.#_.resolve());let u={claim:e,deps:o,invocation:s};this.#c=new Jr(this,{...u,effects:r.effects,nextTries:this.#l,hopSignal:this.#s.signal,handsOver:i(()=>this.#s.handsOver,"handsOver"),ended:i(()=>this.#_.resolve(),"ended")}),this.#f=new to(e,o.live,this.#a),this.#b=e.startsAt??e.admittedAt,this.#m={chance:o.chance,mayGoOn:i(()=>this.mayWrite()&&s.remainingMs()>o.settings.settleReserveMs/2,"mayGoOn"),onPause:i(l=>this.#a.warn("the ledger is out of reach; a result waits",{kind:l.kind}),"onPause")},this.#d=new Vr(e,r.journal,o,this.#m),this.#p=new Zr({...u,bodies:this.#h,effects:this.#g,inFlight:this.#c,writer:this.#d,persistence:this.#m,word:this.#s,openCalls:i(()=>this.#u.openCalls(),"openCalls"),resolve:i((l,c,m)=>(this.#A(l,{outcome:"ok",text:c,tries:1,completedAt:m}),We()),"resolve")})}async run(e,n){this.#I(e),await this.#v();let r=this.#s,o=r.handsOver,s=this.#x||o?void 0:this.#h.mismatch();if(s!==void 0&&(r.refuse(s),r.insist(s)),n!==void 0&&!this.#x&&!o&&!r.refused&&r.mayWrite){let d=await Nr(()=>n(u=>this.#D(u)));d!==void 0&&(r.say(d),r.mayWrite&&r.insist(d))}this.#w=!0,this.#p.goLive();for(let d of this.#u.openCalls())this.#p.begin(d);let a=await this.#O();return this.#l.stop(),this.#f.end(),a.kind==="returned"&&Hc(this.standingTries(),this.#a),r.abort("the hop has ended"),a}async ending(e,{open:n,undo:r}){this.#I(e),await this.#v();let o=this.#u,s=i(d=>o.openByKey(d)!==void 0,"isOpen"),a=i(d=>o.undoable(d)!==void 0,"isKnown");return await this.#E(()=>n.every(s)&&r.every(a)),this.#s.say({kind:"fenced"}),this.#x?void 0:o}async rehearse(e,n){this.#I(e),await this.#v(),await this.#E(()=>n!=="its end"&&this.#R(n));let r=this.#u.openCalls().map(s=>s.id),o={missed:this.#S,end:this.#s.end,open:r};return this.#s.say({kind:"fenced"}),o}#R(e){return e.every(n=>this.#u.find(n)!==void 0)}async#D(e){return await this.#E(()=>this.#R(e)),this.#u.openCalls()}async#E(e){let n=this.#n.clock.monotonicMs();for(;this.#s.end===void 0&&!e();){if(this.#n.clock.monotonicMs()-n>this.#n.settings.replayPatienceMs)return;await We()}}fence(){this.#s.say({kind:"fenced"})}fail(e){this.#s.say(Vi(e))}drain(e){this.#s.say({kind:"yielded",why:e})}mayWrite(){return this.#s.mayWrite}journal(){return this.#d.entries()}standingTries(){return this.#u.openCalls().filter(({wait:e})=>typeof e?.tries=="number")}hasTried(){return this.#l.hasTried()}hasWaited(){return this.#p.hasWaited()}unanswered(){return{calls:this.#u.openCalls().map(({id:e})=>e),more:this.#C}}#I(e){let n=i(d=>this.#s.refuse(d),"refuse"),r=i(()=>this.#w||this.#i.length===0||this.#u.closed()>this.#k,"isNew"),o=new Fr({epoch:this.#e.epoch,hop:this,stepLimitMs:this.#r.limitMs-this.#n.settings.settleReserveMs,transactionLimitMs:this.#n.settings.transactionLimitMs,deps:this.#n,bodies:this.#h,calls:this.#u,now:i(()=>this.#b,"now"),hasEnded:i(()=>this.#s.end!==void 0,"hasEnded"),askedLate:i(()=>{this.#w&&this.#s.handsOver&&(this.#C=!0)},"askedLate"),decide:i(d=>this.#s.say(d),"decide"),refuse:n,opened:i(d=>{this.#w&&this.#p.begin(d),this.#_.resolve()},"opened"),start:i((d,u)=>{if(this.#s.end!==void 0&&!this.#$(this.#s.end,d))return;let l=this.#c.start(d,u);l!==void 0&&this.#s.say(l)},"start"),startReserve:i(d=>this.#p.start(d),"startReserve"),startChild:i((d,u)=>{this.#s.end!==void 0&&!this.#$(this.#s.end,d)||this.#c.track(d,ic(this.#e,d,u,this.#y,this.#n,this.#m,this.#r))},"startChild")}),s=Vc({claim:this.#e,held:this.#o,log:this.#a,abortSignal:this.#s.signal,isNew:r,now:i(()=>this.#b,"now"),stream:i((d,u)=>this.#f.say(d,u,r,n),"stream"),asking:o});Re({hop:this,scope:"",step:void 0,held:void 0},i(async()=>this.#t.run(s,e),"body")).then(d=>this.#s.say({kind:"returned",output:d}),d=>this.#s.say(Vi(d)))}async#v(){let e=await Uc(this.#i,{find:i(n=>this.#u.find(n),"find"),openCalls:i(()=>this.#u.openCalls(),"openCalls"),end:i(()=>this.#s.end,"end"),refused:i(()=>this.#s.refused,"refused"),resolve:i((n,r)=>this.#A(n,r),"resolve"),missed:i((n,r)=>{this.#S={entry:n,asked:r}},"missed"),patienceMs:this.#n.settings.replayPatienceMs,nowMs:i(()=>this.#n.clock.monotonicMs(),"nowMs")});e!==void 0&&(this.#x=!0,this.#s.insist(e))}async#O(){let e={word:this.#s,writer:this.#d,nextTries:this.#l,log:this.#a,ledgerNowMs:i(()=>fe(this.#e,this.#n,this.#r),"ledgerNowMs"),resolve:i((n,r)=>this.#A(n,r),"resolve"),turn:i((n,r)=>this.#p.turn(n,r),"turn")};for(;;){this.#p.startReleases();let n=this.#c.takeFinished();if(n!==void 0)await Tc(n,e);else{if(this.#s.end!==void 0&&this.#c.isEmpty())return this.#s.end;if(await this.#N())this.#s.say({kind:"parked",standing:this.#u.openCalls()});else if(!this.#c.hasFinished()&&!(this.#s.end!==void 0&&this.#c.isEmpty())){let r=setTimeout(()=>{this.#s.end===void 0&&this.#c.isEmpty()&&Kc(this.#e,this.#a,this.#n)},this.#n.settings.overdueAfterMs),o=this.#p.yieldsInTime(this.standingTries());await this.#_.promise,clearTimeout(r),clearTimeout(o),this.#_=et()}}}}#N(){let{clock:e,settings:n}=this.#n;return Wc({still:i(()=>this.#s.end===void 0&&this.#c.isEmpty()&&this.#h.open().length===0&&this.#u.openCalls().length>0&&this.#u.openCalls().every(({wait:r})=>r!==void 0),"still"),asked:i(()=>this.#u.asked(),"asked"),hasAll:i(()=>this.#y.every(({call:r})=>this.#u.wasAsked(r)),"hasAll"),nowMs:i(()=>e.monotonicMs(),"nowMs"),restMs:n.parkRestMs,patienceMs:n.replayPatienceMs})}#$(e,n){return e.kind==="returned"?!0:e.kind==="restarted"&&this.#g.of(n.id).openIntent!==void 0}#A(e,{outcome:n,text:r,tries:o,completedAt:s}){this.#u.close(e),this.#b=s;let a=r===null?void 0:JSON.parse(r);this.#h.resolved(e,a,this.#w);let d=e.wait?.receive;n==="ok"?e.result.resolve(d===void 0?a:d(a)):e.result.reject(new ht(e.id.name,o,a,e.id.kind))}};function no(t,e){let n=e.carrier(t);if(n!==void 0){let u=Cn(n);return{workflow:n.definition,adopts:u.digest===t.digest?void 0:u}}let r=e.find(t),o=r===void 0?"this worker has none of that name and version":`this worker has ${r.digest}`,{name:s,version:a,digest:d}=t;return{absent:`the run is pinned to workflow "${s}" version ${a} with digest ${d}; ${o}`}}i(no,"pinnedWorkflow");async function Yc(t,e,n,r){let o=await n.ledger.workflows.buildOf(t.workflow),s=t.workflowAbsentSince,a=s===null?0:t.claimedAt.getTime()-s.getTime();if(o===null||a>=n.settings.deployOverlapMs){let c=o===null?"no build is known to have it":`build "${o}" is known to have it`,m=s===null?"it was never given back":`it was given back for ${Math.floor(a/1e3)} s, since ${s.toISOString()}`;return q("workflow_changed",`${e}; ${c}, and ${m}`)}let{name:d,version:u,digest:l}=t.workflow;return n.logFor(t).warn("this build lacks the run's workflow; its delivery goes back for one that has it",{workflow:d,version:u,digest:l,build:o,waitedSeconds:Math.floor(a/1e3)}),{kind:"given_back",dueAt:new Date(fe(t,n,r)+at),why:"this build lacks its workflow",workflowAbsent:!0}}i(Yc,"endWithoutWorkflow");async function Qc(t,e,n,r){let o={...Kt(t,n),workflowDigest:e.digest};if(await r.faults("worker.before-adopt",t.runId),!await r.ledger.runs.adoptIfClaimed(t,e,o))return{kind:"fenced"};r.logFor(t).info("the run goes on with code that accepts its digest",{workflow:e.name,version:e.version,digest:e.digest,before:t.workflow.digest})}i(Qc,"adopt");var em="its timeout does not fit what is left of the invocation",Xc="its code does not come to it any more, or has no undo for it",tm={outcome:"unknown",result:void 0};async function nm(t){let{claim:e,deps:n}=t,r=(await n.ledger.items.ofRun(e)).filter(({acknowledgedAt:d})=>d===null),o=new Map(r.flatMap(d=>d.kind==="undo"?[[d.key,d]]:[]));if(o.size===0)return{kind:"all"};if(r.some(({kind:d})=>d!=="undo"))return{kind:"some"};let s=await n.ledger.undos.ofRun(e);for(let d of o.values())if(!s.some(({key:u})=>u===d.key)){if(!await Zc(d,"it has not happened, and cannot any more",t))return{kind:"fenced"};o.delete(d.key)}let a=0;for(let{key:d,name:u}of s){let l=o.get(d);if(l===void 0)continue;if(t.stops())return{kind:"some"};let c=await mb(l,u,t);if(t.signal.aborted)return{kind:"fenced"};if(c===em&&a>0)return{kind:"some"};if(c!==void 0)return await n.ledger.items.noteError(e,l,c),{kind:"none",why:`step "${u}" could not be undone: ${c}`};if(!await Zc(l,"it is undone",t))return{kind:"fenced"};await n.faults("worker.after-undo",u),a+=1}return{kind:"all"}}i(nm,"undo");async function mb(t,e,n){let{claim:r,deps:o,hop:s,invocation:a,undoable:d,known:u,signal:l}=n,c=d(t);if(c===void 0)return Xc;let{id:m,step:f}=c,{outcome:p,result:w}=u(t),{undo:g,timeoutMs:I}=f;if(g===void 0)return Xc;if(I>a.remainingMs()-o.settings.settleReserveMs)return em;let C=o.logFor(r);await o.faults("worker.before-undo",e);let $={hop:s,scope:m.scope,step:`undo of ${e}`,held:void 0},K=await Re($,()=>dt({name:`undo of ${e}`,idempotencyKey:$o(r.firstRunId,m),options:{timeoutMs:I},run:i(({idempotencyKey:M,signal:H,log:ee})=>g({idempotencyKey:M,stepIdempotencyKey:Je(r.firstRunId,m),signal:H,log:ee,outcome:p,result:w}),"run"),hopSignal:l,log:C,overdueAfterMs:o.settings.overdueAfterMs,onOverdue:i(()=>Et({call:m,claim:r,log:C},o),"onOverdue")},1));if(K.outcome!=="ok")return C.warn("a step could not be undone; it is tried again later",{step:e,error:K.failure.name}),K.failure.message.slice(0,300)}i(mb,"undoOne");async function Zc({kind:t,key:e},n,{claim:r,deps:o}){return await o.ledger.items.acknowledge(r,{kind:t,key:e,by:"undo",words:n,under:r})!==null?!0:(await o.ledger.items.ofRun(r)).find(d=>d.kind===t&&d.key===e)?.acknowledgedAt!==null}i(Zc,"acknowledge");async function rm(t,e,n,r,o){let s=new AbortController,a=new AbortController,[d,u]=[!1,!1],l=i(()=>s.abort(new DOMException("the containment does not go on here","AbortError")),"stop");r.onHop({fence:i(()=>{d=!0,o.fence(),l(),a.abort(new DOMException("the claim is gone","AbortError"))},"fence"),drain:i(()=>{u=!0,o.drain(),l()},"drain")});try{let c=await e.ledger.items.ofRun(t),m=i(J=>pb(J.key),"keyOf"),f=new Set(c.filter(({kind:J})=>J==="undo").map(m)),p=c.filter(({acknowledgedAt:J})=>J===null),w=p.filter(({kind:J})=>J==="effect"),g=no(t.workflow,e.registry);if("absent"in g)return e.logFor(t).warn("a contain delivery has come to a build without the run's workflow",{workflow:t.workflow.name,version:t.workflow.version,digest:t.workflow.digest}),await ct(t,"refused",e,"it has come to a build without the run's workflow");let I=await Ht(t,g.workflow,e);if(!Jt(I))return await ct(t,"refused",e);let C=await o.take(g.workflow);if(C!==void 0){if(d)return{kind:"fenced"};let J="why"in C?C.why:"the process is about to end";return e.logFor(t).warn("a contain delivery cannot have what it is to hold",{why:J}),await ct(t,"refused",e,J)}let $=new lt(t,g.workflow,I,{...e,live:un},n,o),K=p.filter(({kind:J})=>J==="undo").map(m),M=await $.ending(I.input,{open:w.map(m),undo:K});if(M===void 0)return await ct(t,"refused",e,"this code is not what the run's journal is of");let H=fb(I.journal),ee=await Promise.all(w.map(J=>{let Xt=m(J),Io={item:J,call:M.openByKey(Xt),isUndone:f.has(Xt),happened:i(jn=>H.set(Xt,{outcome:"happened",result:jn}),"happened")};return hb(t,Io,s.signal,e)}));if(d)return{kind:"fenced"};if(!ee.every(Boolean))return await ct(t,"failed",e);let ge=await nm({claim:t,deps:e,invocation:n,hop:$,undoable:i(J=>M.undoable(m(J)),"undoable"),known:i(J=>H.get(m(J))??tm,"known"),signal:a.signal,stops:i(()=>u,"stops")});return d||ge.kind==="fenced"?{kind:"fenced"}:ge.kind==="none"?await ct(t,"failed",e,ge.why):await ct(t,"done",e)}catch(c){if(!(c instanceof ne)&&!(c instanceof de))throw c;return e.logFor(t).error("a contain delivery could not be begun",{error:c.message}),ct(t,"refused",e)}}i(rm,"carryContain");function fb(t){return new Map(t.map(e=>{let n=e.outcome==="ok",r=n&&e.text!==null?JSON.parse(e.text):void 0;return[j(e),{outcome:n?"happened":"failed",result:r}]}))}i(fb,"knownFrom");function pb(t){return JSON.stringify(JSON.parse(t))}i(pb,"sameKey");async function hb(t,{item:e,call:n,isUndone:r,happened:o},s,a){if(n?.step===void 0)return!1;let d=i(async(m,f,p)=>{let w={kind:"effect",key:e.key,by:f,words:m,under:t};return await a.ledger.items.acknowledge(t,{...w,...p&&{effect:p}})!==null},"say"),u=i(async()=>r&&await d("nobody knows; its undo is called whether it has happened or not","undo"),"covered");if(n.step.probe===void 0)return u();let l=a.logFor(t),c=await Qi(n.step.probe,{call:n.id,claim:t,options:n.step,log:l,hopSignal:s,overdueAfterMs:a.settings.overdueAfterMs,onOverdue:i(()=>Et({call:n.id,claim:t,log:l},a),"onOverdue")});return typeof c=="string"||c.outcome==="unknown"?(l.warn("an effect of an ending run is still unknown",{step:n.id.name,reason:typeof c=="string"?c:"unknown"}),u()):c.outcome==="cannot_happen"?d("it has not happened, and cannot any more","probe",c.outcome):(o(c.result),d("it has happened","probe",c.outcome))}i(hb,"settleEffect");async function ct(t,e,n,r="an effect is still unknown"){let{settled:o,ended:s}=await n.ledger.deliveries.settleContainIfClaimed(t,e);return o?(s===null&&(e!=="done"&&await n.ledger.runs.raiseAttention(t,`containment ${e}: ${r}`),await n.ledger.items.containSooner(t,n.settings.maxContainDeliveries)),{kind:"contained",outcome:e}):{kind:"fenced"}}i(ct,"finish");var ro=class{static{i(this,"Holdings")}#e;#t;#n;#r;#o=new AbortController;#i=[];#a;#d=[];#m=[];#f;#s;constructor(e,n,r){this.#e=e,this.#t=n,this.#n=r,this.#r=n.logFor(e);let o=i(s=>{this.#s===void 0?this.#y("what a hop holds has left an error to the process",s):this.#s.fail(s)},"leftBehind");this.#a={hop:{fail:o},scope:"",step:void 0,held:void 0}}get grants(){return Object.fromEntries(this.#d)}get resources(){return Object.fromEntries(this.#m)}get untilMs(){return Math.min(...this.#d.map(([,{expiresAt:e}])=>e?.getTime()??1/0))}get isEmpty(){return this.#i.length===0}fence(){this.#g("fenced")}drain(){this.#g("drained")}carriedBy(e){this.#s=e}async checkAuthority(e){if(e.authority===void 0)return;let{tenantId:n,runId:r,requestedBy:o,requestedRoles:s}=this.#e,a={tenantId:n,runId:r,subject:o,roles:s,required:e.authority.roles},d=await this.#c("the authority",async u=>No(await this.#t.authority.check({...a,workflow:this.#e.workflow},u)));if(d.kind!=="answered")return d;if(d.answer.outcome!=="valid")return{kind:"refused",code:"authority_revoked",why:`the authority of "${o}" does not hold: ${d.answer.reason}`}}async take(e){for(let n of e.grants){let r=await this.#u(n);if(r!==void 0)return r}for(let[n,r]of Object.entries(e.resources)){let o=await this.#l(n,r);if(o!==void 0)return o}}async release(){this.#s=void 0;for(let e=this.#i.pop();e!==void 0;e=this.#i.pop())await this.#h(e.what,e.back)}async#u(e){let{tenantId:n,runId:r,requestedBy:o,requestedRoles:s,workflow:a,seq:d}=this.#e,u=`the grant "${e}"`,l=await this.#c(u,async w=>Po(await this.#t.grants.acquire({tenantId:n,runId:r,name:e,subject:o,roles:s,workflow:a,seq:d},w)),w=>w.outcome==="granted"?w.release:void 0);if(l.kind!=="answered")return l;let{answer:c}=l;if(c.outcome==="refused")return{kind:"refused",code:"grant_refused",why:`${u} was refused to "${o}": ${c.reason}`};let{value:m,expiresAt:f,release:p}=c;if(p!==void 0&&this.#i.push({what:u,back:p}),f!==void 0&&f.getTime()<=fe(this.#e,this.#t,this.#n))return{kind:"unknown",why:`${u} had expired when it was given, at ${f.toISOString()}`};this.#d=[...this.#d,[e,Object.freeze({value:m,expiresAt:f})]]}async#l(e,n){let{tenantId:r,runId:o}=this.#e,{grants:s}=this,a=i(c=>n.dispose===void 0?void 0:()=>n.dispose?.(c),"disposal"),d=`the resource "${e}"`,u=await this.#c(d,c=>n.build({tenantId:r,runId:o,grants:s,log:this.#r,signal:c}),a);if(u.kind!=="answered")return u;let l=a(u.answer);l!==void 0&&this.#i.push({what:d,back:l}),this.#m=[...this.#m,[e,u.answer]]}async#c(e,n,r=()=>{}){if(this.#f!==void 0)return{kind:this.#f};let{settings:o,faults:s}=this.#t,a=o.leaseHeld?xt:this.#p(o.ownerDeadlineMs,o.settleReserveMs),{promise:d,resolve:u}=Promise.withResolvers(),l=!1,c=i(g=>{let I=!l;return l=!0,u(g),I},"decide"),m=new AbortController,f=i(()=>{c({kind:this.#f??"fenced"})},"stopped");this.#o.signal.addEventListener("abort",f,{once:!0});let p=setTimeout(()=>c({kind:"unknown",why:`${e}: no answer within ${a} ms`}),a);Re(this.#a,async()=>{await s("holdings.before-ask",e);let g=await n(m.signal);return await s("holdings.after-ask",e),g}).then(g=>{let I=r(g);!c({kind:"answered",answer:g})&&I!==void 0&&this.#h(e,I)},g=>c({kind:"unknown",why:`${e}: ${om(g)}`}));let w=await d;return clearTimeout(p),this.#o.signal.removeEventListener("abort",f),w.kind!=="answered"&&m.abort(new DOMException("nobody waits for it any more","AbortError")),w}async#h(e,n){let{settings:r,faults:o}=this.#t;try{let s=Re(this.#a,async()=>{await o("holdings.before-release",e),await n(),await o("holdings.after-release",e)});if(await Ne(s,this.#p(r.ownerDeadlineMs,r.settleReserveMs/2)))return;s.catch(a=>this.#y(`${e} was given back late, and failed`,a)),this.#r.warn("what a hop held was not given back in time; nobody waits for it any more",{what:e})}catch(s){this.#y(`${e} could not be given back`,s)}}#p(e,n){return Math.max(0,Math.min(e,this.#n.remainingMs()-n))}#g(e){this.#f!=="fenced"&&(this.#f=e),this.#o.abort()}#y(e,n){this.#r.warn(e,{error:om(n)})}};function om(t){let{name:e,message:n}=v(t);return`${e}: ${n}`.slice(0,300)}i(om,"messageOf");function sm(t){return t!==void 0&&Te.CALLBACK_TOKEN.test(t)}i(sm,"isCallbackToken");function ds({tenantId:t,runId:e,attemptId:n},r){return L(`ghouls-callback-1
${JSON.stringify([t,e,n,r])}`)}i(ds,"callbackDigest");var gb="0".repeat(64);function oo(t,e,n){let r=ds(t??{tenantId:"",runId:"",attemptId:""},n);return ft(r,e??gb)&&t!==null}i(oo,"isTokenOf");var im=43,yb=/(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43,128}(?![A-Za-z0-9_-])/g;function us(t,e){if(t.callbackDigest===null)return!1;let n=new Set;for(let[r]of e.matchAll(yb))for(let o=0;o+im<=r.length;o+=1)n.add(r.slice(o,o+im));return[...n].some(r=>oo(t,t.callbackDigest,r))}i(us,"repeatsToken");var _b=10,am=30,wb=86400;function um({cancelAsked:t,overdue:e,armOpen:n,parked:r}){return t||e||!n?"no":r?"now":"later"}i(um,"demandOf");function mt(t){let{status:e,traits:n,late:r,acknowledgedAt:o,submissions:s,misses:a,unsent:d}=t;return{status:e,traits:n,late:r,acknowledged:o!==null,demand:um(t),submissions:s,misses:a,unsent:d}}i(mt,"askedOf");function io({adapter:t,version:e,identity:n}){return L(le({adapter:t,version:e,identity:n}))}i(io,"digestOfService");function Be(t,e){if(e==="DEFINED"||t.unsent)return am;let n=t.status===e?t.looks+1:0;return(e==="SUBMITTED"||e==="RUNNING")&&um(t)!=="no"?Gn(t.pollSeconds??wb,n):Gn(e==="SUBMITTING"?_b:am,n)}i(Be,"secondsToNextLook");var dm="what it gave repeats the callback's token, a secret";async function Yt(t,e,n){if(e.state==="unknown"||e.state==="unsent"){let d=us(t,e.why)?dm:e.why;return{answer:{state:e.state,why:d}}}if(e.state!=="succeeded"&&e.state!=="failed")return{answer:e};let r;try{let d=e.state==="succeeded"?e.result??null:xb(e.error);r=jo(Z(d)??"null").canonical}catch(d){if(!(d instanceof Q)&&!(d instanceof b))throw d;return{answer:{state:"unknown",why:`what it gave cannot be kept: ${v(d).message}`}}}if(us(t,r))return{answer:{state:"unknown",why:dm}};let{tenantId:o,runId:s}=t,a=await Ue("the report of a job",()=>n.encode(r,{tenantId:o,runId:s,kind:"report"}));return{answer:e,outcome:{report:{reportText:a,reportDigest:L(a)},canonical:r}}}i(Yt,"outcomeOf");var kb=200,bb=2e3;function xb({code:t,message:e}){let n=i((r,o)=>r.slice(0,o).replaceAll("\0","\uFFFD").toWellFormed(),"cut");return{code:n(t,kb)||"unknown",message:n(e,bb)}}i(xb,"bounded");function lm({status:t},e,n,r){let o=i(s=>`it is ${t}, and then the service said that ${s}`,"said");switch(e.state){case"succeeded":case"failed":return t===(e.state==="succeeded"?"SUCCEEDED":"FAILED")&&n!==void 0&&(r===void 0||r===n.canonical)?void 0:o(e.state==="failed"?"it failed":"it succeeded, with another result");case"cancelled":return t==="CANCELLED"?void 0:o("it was cancelled");case"accepted":case"running":return t==="CANCELLED"?o("it runs"):void 0;case"absent":case"unsent":case"unknown":return}}i(lm,"contradictionOf");function so(t,e,n){return Promise.all(e.flatMap(({id:r,wait:o})=>{if(o===void 0)return[];let s={call:r,armId:n.ids.next(),owner:o.owner,dueAt:o.dueAt,tries:o.tries},{consent:a,job:d}=o;return a!==void 0?[Eb(t,a,n).then(u=>({...s,consent:u}))]:d!==void 0?[Ib(t,r.name,d,n).then(u=>({...s,attempt:u}))]:[Promise.resolve(s)]}))}i(so,"standingOf");async function Eb(t,e,{codec:n,ids:r}){let{title:o,deciders:s,quorum:a,expiresMs:d,onExpiry:u,requesterMayDecide:l,source:c}=e,m=le({runId:t.runId,workflow:t.workflow,...Xi(e)}),{tenantId:f,runId:p}=t,[w,g]=await Ue(`the consent "${o}"`,async()=>[await n.encode(m,{tenantId:f,runId:p,kind:"consent"}),await Ae(n,m)]);return{consentId:r.next(),title:o,requestText:w,storedDigest:L(w),requestDigest:g,deciders:s,quorum:a,requesterMayDecide:l,onExpiry:u,expiresInSeconds:d===null?null:d/1e3,source:c}}i(Eb,"frozen");async function Ib(t,e,n,{codec:r,ids:o}){let{service:s,definition:a,requestText:d,deadlineMs:u,heartbeatMs:l}=n,{tenantId:c,runId:m}=t,[f,p]=await Ue(`the job "${e}"`,async()=>[await r.encode(d,{tenantId:c,runId:m,kind:"job"}),await Ae(r,rc(n))]),w=o.next(),g=i(I=>I===null?null:I/1e3,"seconds");return{attemptId:w,service:s,adapter:a.adapter,adapterVersion:a.version,serviceDigest:io(a),traits:a.traits,requestText:f,storedDigest:L(f),requestDigest:p,idempotencyKey:`ghouls-${w}`,pollSeconds:g(a.times.pollMs),heartbeatSeconds:g(l),deadlineSeconds:g(u)}}i(Ib,"frozenJob");async function ls(t,{journal:e,calls:n,idle:r,dueAt:o},s,a){let{deliveries:d}=a.ledger,u=Kt(t,e),l={idle:r,publisherGraceSeconds:a.settings.publisherGraceSeconds,...o===void 0?{}:{dueAt:o}},c=await so(t,n,a);await a.faults("worker.before-handover",t.runId);let m=c.length===0?await d.yieldIfClaimed(t,u,l):await d.yieldStandingIfClaimed(t,u,c,l);return await a.faults("worker.after-handover",t.runId),m===null?{kind:"fenced"}:(o===void 0&&s!=="pause"&&await ao(t,m,a),{kind:"handed_over",why:s})}i(ls,"handOver");async function cs(t,e,n){await n.faults("worker.before-handover",t.runId);let r=await n.ledger.deliveries.giveBackIfClaimed(t,e.dueAt,e.workflowAbsent);return await n.faults("worker.after-handover",t.runId),r===null?{kind:"fenced"}:{kind:"handed_over",why:e.why}}i(cs,"giveBack");async function ao(t,e,n){let{tenantId:r,runId:o}=t;await n.publisher.publish({tenantId:r,runId:o,enqueueSeq:e.enqueueSeq,queue:e.queue})}i(ao,"publishNext");async function uo(t,e,n,r){let{answer:o,outcome:s}=await Yt(t,Ab(e,n),r.codec),a,d=await r.ledger.attempts.change(t,l=>{if(!vb(l,t,o,n)){a=l;return}if(!(n.sentFor===void 0&&(o.state==="unknown"||o.state==="unsent")&&l.looks!==t.looks))return ms(l,pt({...mt(l),late:n.late},o),o,{outcome:s,by:"service",sentFor:n.sentFor})},r.settings),u=o.state==="accepted"||o.state==="running";if(a!==void 0&&!u&&await fs(a,o,s,r),await tt(t,d,r),d!==null&&(o.state==="unknown"||o.state==="unsent")){let{runId:l,attemptId:c,service:m}=t;r.log.warn("a question about a job came to nothing",{runId:l,attemptId:c,service:m,why:o.why})}return d}i(uo,"recordAnswer");function vb(t,e,n,{sentFor:r}){if(t.token!==e.token||t.closedAt!==null)return!1;let o=n.state==="succeeded"||n.state==="failed",s=r!==void 0&&["accepted","running","unsent"].includes(n.state);return t.status===e.status||o||s}i(vb,"mayMove");function Ab(t,{sentFor:e}){return t.state==="unsent"&&e===void 0?{state:"unknown",why:t.why}:t}i(Ab,"heard");function ms(t,e,n,r){let{outcome:o,by:s,sentFor:a,usesCallback:d=!1}=r,u=e.kind==="move"?e.to:t.status,l=u==="SUCCEEDED"||u==="FAILED";return{status:u,by:s,acknowledged:n.state==="accepted"||n.state==="running"||l,missed:e.kind==="keep"&&e.missed,nextLookSeconds:Be(t,u),usesCallback:d,...l&&o!==void 0?{report:o.report}:{},..."why"in e?{why:e.why}:{},...n.state==="unsent"?Sb(t,n.why):{},...a===void 0?{}:{sentFor:a}}}i(ms,"changeOf");function Sb({misses:t},e){return{unsent:!0,...t+1<3?{}:{attention:`it cannot be sent: ${e}`}}}i(Sb,"unsentOf");async function tt(t,e,{publisher:n,log:r}){if(e===null)return;let{runId:o,attemptId:s,service:a}=t;if(e.status!==t.status){let d=e.status==="UNCERTAIN"?"warn":"info";r[d]("an attempt has moved",{runId:o,attemptId:s,service:a,from:t.status,to:e.status})}e.ended!==null&&r.info("a run has ended with its last job",{runId:o,status:e.ended}),e.resumption!==null&&await n.publish(e.resumption)}i(tt,"follow");async function fs(t,e,n,{ledger:r,codec:o,log:s}){if(t.closedAt===null)return;let a=await lo(t,o),d=lm(t,e,n,a);if(d===void 0)return;let{runId:u,attemptId:l,service:c,status:m}=t;s.error("a service contradicts the end of its job",{runId:u,attemptId:l,service:c,status:m}),await r.attempts.keepContradiction(t,d)}i(fs,"tellContradiction");async function lo(t,e){let{tenantId:n,runId:r,reportText:o,reportDigest:s}=t;if(o!==null)return ue(o,s,"a report",a=>e.decode(a,{tenantId:n,runId:r,kind:"report"}))}i(lo,"saidOf");var Cb=1e3,Ln=class extends Error{static{i(this,"ExecutorError")}constructor(e){super(e),this.name="ExecutorError"}},Rb=30*86400;function ps(t,{services:e}){let n=t.service,r=Object.hasOwn(e,n)?e[n]:void 0;if(r===void 0)throw new Ln(`the configuration has no service "${n}"`);if(io(r)!==t.serviceDigest)throw new Ln(`the service "${n}" is another executor now than the one that the job was made for`);return r}i(ps,"executorOf");async function hs(t,e,n,r,{delegation:o}){let s=Math.floor(Math.min(t.times.timeoutMs,r));if(s<1)return{answer:{state:"unknown",why:"there was no time left to ask"},over:!0};try{return{answer:await o.egress.ask(e,n,s),over:!0}}catch(a){return{answer:{state:"unknown",why:v(a).message.slice(0,300)},over:!(a instanceof kt)}}}i(hs,"ask");async function co(t,e,n,r=()=>e.settings.ownerDeadlineMs){let{delegation:o,ids:s,clock:a,faults:d,settings:u,worker:l}=e,c=ps(t,o),m=Math.min(c.times.timeoutMs,r())+Cb;if(n()<m||r()<1)return null;let f=await Db(t,e),p=o.publicUrl===void 0?null:{url:Ob(o.publicUrl,t.attemptId),token:o.newToken()},w=p===null?null:ds(t,p.token),[g,I,C]=[a.monotonicMs(),a.wallMs(),n()],$=s.next();if(await d("delegate.before-claim",t.attemptId),!await $b(t,$,{deps:e,submission:{token:$,submitter:l,sendsForSeconds:Math.max(0,C)/1e3+u.actsMarginSeconds,callbackDigest:w,callbackSeconds:Rb,nextLookSeconds:Math.ceil(c.times.timeoutMs/1e3)+u.publisherGraceSeconds}}))return null;await d("delegate.after-claim",t.attemptId);let M=Math.max(a.monotonicMs()-g,a.wallMs()-I),H={...t,status:"SUBMITTING",token:$,callbackDigest:w};if(M>C)return null;let{tenantId:ee,runId:ge,attemptId:J,idempotencyKey:Xt}=t,Io={tenantId:ee,runId:ge,attemptId:J,idempotencyKey:Xt,requestText:f,callback:p},{answer:jn,over:pf}=await hs(c,t.service,{kind:"submit",job:Io},r(),e);await d("delegate.after-submit",J);let hf=pf?u.actsMarginSeconds:null,gf=jn.state==="unknown"?hf:0,yf=await uo(H,jn,{late:!1,sentFor:gf},e);return await d("delegate.after-answer",J),yf}i(co,"submitJob");async function $b(t,e,{deps:{ledger:n},submission:r}){try{return await n.attempts.claimSubmission(t,r)}catch(o){if(!(o instanceof T)||o.kind!=="unknown")throw o;let s=await n.attempts.get(t);return s?.status==="SUBMITTING"&&s.token===e}}i($b,"claim");async function Db(t,{ledger:e,codec:n}){let{tenantId:r,runId:o,storedDigest:s}=t,a=(await e.attempts.get(t))?.requestText??"";return ue(a,s,"a job's request",d=>n.decode(d,{tenantId:r,runId:o,kind:"job"}))}i(Db,"requestOf");function Ob(t,e){return`${t.replace(/\/+$/,"")}/v1/attempts/${e}/callback`}i(Ob,"callbackUrl");function cm(t){return t instanceof Ln||t instanceof de||t instanceof ne}i(cm,"isOfAttempt");async function mm(t,e,n,r,o){let s=await so(t,n,r);await r.faults("worker.before-park",t.runId);let a=Kt(t,e),{publisherGraceSeconds:d}=r.settings,u=i(()=>r.ledger.deliveries.parkIfClaimed(t,a,s,{publisherGraceSeconds:d}),"commit"),l=await u();for(;l?.kind==="mismatch"&&l.ownerId!==void 0;){let{ownerId:c,key:m}=l,f=n.find(w=>w.key===m)?.wait,p=await Nn(t,c,f,r);if(p===void 0)break;s=s.map(w=>j(w.call)===m?Nb(w,p):w),l=await u()}if(await r.faults("worker.after-park",t.runId),l===null)return{kind:"fenced"};switch(l.kind){case"mismatch":return{kind:"refused",end:q("journal_mismatch",`${l.what}: the code has changed or is not deterministic`)};case"continued":return await ao(t,l.next,r),{kind:"handed_over",why:"what it waited for had happened"};case"parked":return await Promise.all([qb(t,l.arms,r),Pb(t,l.arms,o,r)]),{kind:"parked",status:l.status}}}i(mm,"park");function Nb(t,e){return t.consent!==void 0?{...t,consent:{...t.consent,requestDigest:e}}:t.attempt===void 0?t:{...t,attempt:{...t.attempt,requestDigest:e}}}i(Nb,"withDigest");async function Pb(t,e,n,r){if(!n.endsByForce||!e.some(({attemptStatus:s})=>s==="DEFINED"))return;let o=r.logFor(t);try{let s=await r.ledger.attempts.definedOfRun(t);await Promise.all(s.map(a=>co(a,{...r,log:o},n.remainingMs).catch(d=>{let u=v(d).message.slice(0,300);o.warn("a job could not be submitted; the reconciler looks after it",{job:a.name,error:u})})))}catch(s){o.warn("the run's jobs could not be read; the reconciler looks after them",{error:String(s).slice(0,200)})}}i(Pb,"submitAtOnce");async function qb(t,e,n){let r=e.flatMap(({armId:a,dueInSeconds:d,call:u,seq:l})=>{if(d===null||d>xe)return[];if(l!==t.seq&&u.kind!=="step")return[];let c=Math.max(0,Math.ceil(d));return[{armId:a,tenantId:t.tenantId,queue:t.queue,delaySeconds:c}]});if(r.length===0)return;let o=await n.queue.wake(r),[s]=o;s!==void 0&&n.logFor(t).warn("timers could not be sent; the reconciler will wake the run",{count:o.length,reason:s})}i(qb,"wakeInTime");async function fm(t,e,n){let r=await Lb(t,e,n);if("end"in r)return{kind:"refused",end:r.end};await n.faults("worker.before-restart",t.runId);let o=await n.ledger.runs.restartIfClaimed(t,{inputText:r.stored,inputDigest:L(r.stored),workflowDigest:t.workflow.digest,journalDigest:qr([]),epoch:t.epoch},{publisherGraceSeconds:n.settings.publisherGraceSeconds});return await n.faults("worker.after-restart",t.runId),o===null?{kind:"fenced"}:(await ao(t,o,n),{kind:"handed_over",why:"restart"})}i(fm,"restart");async function Lb(t,e,n){let r=i((o,s)=>({end:q(o,`ctx.restart: the new input ${s}`)}),"refuse");try{let o=Z(e)??"null",s=n.registry.find(t.workflow)?.definition,a=s===void 0?void 0:await Tr(s,o);if(a!==void 0)return r("input_invalid",`does not fit the workflow's schema: ${a}`);let{tenantId:d,runId:u}=t,l={tenantId:d,runId:u,kind:"input"};return{stored:await Ue("the input of a restart",()=>n.codec.encode(o,l))}}catch(o){if(o instanceof Q)return r(o.reason,o.message);throw o}}i(Lb,"newInput");import{setTimeout as jb}from"node:timers/promises";async function mo(t,e,n,r){let{tenantId:o,runId:s}=t,a=n.kind==="returned"?await Mb(e,n.output):n.failure;if(Tb(a)){let u=await r.codec.encode(JSON.stringify(a),{tenantId:o,runId:s,kind:"error"});return{status:"FAILED",errorCode:a.code,errorText:u,errorDigest:L(u)}}if(a.text===void 0)return{status:"DONE",outputText:null,outputDigest:null};let d=await r.codec.encode(a.text,{tenantId:o,runId:s,kind:"output"});return{status:"DONE",outputText:d,outputDigest:L(d)}}i(mo,"settlementOf");function Tb(t){return"code"in t}i(Tb,"isFailure");async function Mb(t,e){try{let n=await t?.output?.safeParseAsync(e);return n!==void 0&&!n.success?{code:"output_invalid",name:"Refused",message:`what the workflow returned does not fit its output schema: ${n.error.issues.slice(0,10).map(o=>`/${o.path.map(String).join("/")}: ${o.message}`).join("; ").slice(0,1500)}`}:{text:Z(n===void 0?e:n.data)}}catch(n){return n instanceof Q?{code:n.reason,name:"Refused",message:`what the workflow returned: ${n.message}`}:{code:"output_invalid",name:"Refused",message:`the output schema threw: ${v(n).message.slice(0,500)}`}}}i(Mb,"outputOf");async function pm(t,e,n){await n.faults("worker.before-settle",t.runId);let r=await n.ledger.deliveries.settleIfClaimed(t,e);return await n.faults("worker.after-settle",t.runId),r}i(pm,"settle");var zb="Code outside of steps must do the same each time: use ctx.now(), ctx.random() and ctx.uuid() instead of Date.now(), Math.random() and crypto.randomUUID(), and read what may change inside a step.";async function ym(t,e,n){let{claim:r,workflow:o}=t,s=e.logFor(r);try{await e.faults("worker.before-replay-check",r.runId),await Gb(e);let a=await Fb(t,e,n);if(a!==void 0){let{name:d,version:u}=o;s.warn(`${d}: on replay, ${a}`,{check:"replay",workflow:d,version:u,fix:zb})}await e.faults("worker.after-replay-check",r.runId)}catch(a){s.warn("a hop could not be replayed for the check",{error:v(a).message.slice(0,200)})}}i(ym,"checkReplay");async function Gb({clock:t}){let e=t.wallMs();for(;t.wallMs()<=e;)await jb(1)}i(Gb,"untilLater");async function Fb(t,e,n){let{claim:r,workflow:o,end:s,unanswered:a,journalLength:d}=t;if(s.kind==="failed"&&s.failure.code==="journal_mismatch")return;let u={...r,journalLength:r.journalStart+d},l=d===0?[]:await e.ledger.journal.read(r,r.journalStart),c=await Lr(u,l.slice(0,d),e.codec),m=await Ht({...r,journalLength:r.journalStart,checkpointGeneration:null,seq:1},o,e);if(!Jt(m))return;let f={...e,log:gm,logFor:i(()=>gm,"logFor"),live:un},p={...n,remainingMs:i(()=>n.limitMs,"remainingMs")},g=await new lt(u,o,{...m,journal:c},f,p,t.held).rehearse(m.input,gs(s)?"its end":a.calls),{missed:I}=g;if(I===void 0)return Ub(t,g);let C=I.asked.length===0?"not asked for":I.asked.join(", ").slice(0,500);return`call ${I.entry.ordinal} is ${C} where the run had ${be(I.entry)}`}i(Fb,"differenceOf");async function Ub({claim:t,workflow:e,end:n,unanswered:r},{end:o,open:s}){let a=o!==void 0&&gs(o)?o:void 0;if(n.kind==="parked"||bt(n))return Wb(r,a,s);if(!gs(n))return;if(a===void 0){let l=_m(s);return l!==""?`it asks for ${l} where the run ${Tn(n)}`:`it does not come to its end, where the run ${Tn(n)}: it waits for something outside of steps`}let[d,u]=await Promise.all([hm(t,e,n),hm(t,e,a)]);if(d!==u)return a.kind!==n.kind||n.kind==="failed"?`it ${Tn(a)} where the run ${Tn(n)}`:n.kind==="returned"?"it returns something else than in the run":"it continues as new with another input than in the run"}i(Ub,"differenceOfEnds");function Wb({calls:t,more:e},n,r){let o=new Set(r.map(j)),s=t.find(u=>!o.has(j(u)));if(s===void 0&&!(e&&n!==void 0))return;let a=s===void 0?"went on":`asked for ${be(s)}`;return`it ${n===void 0?`asks for ${_m(r)||"nothing"}`:Tn(n)} where the run ${a}`}i(Wb,"differenceOfCalls");function _m(t){return t.map(be).join(", ").slice(0,500)}i(_m,"inList");function gs(t){return t.kind==="returned"||t.kind==="restarted"?!0:t.kind==="failed"&&(t.failure.code==="workflow_failed"||t.failure.code==="step_failed")}i(gs,"isOfCode");function Tn(t){return t.kind==="returned"?"returned":t.kind==="restarted"?"continued as new":`failed (${t.failure.name}: ${t.failure.message.slice(0,200)})`}i(Tn,"inWords");async function hm(t,e,n){if(n.kind==="failed"){let{code:o,name:s,message:a,step:d}=n.failure;return JSON.stringify([o,s,a,d??null])}if(n.kind==="restarted")return Bb(n.input);let r=await mo(t,e,n,{codec:Bo});return r.status==="DONE"?`DONE ${r.outputDigest}`:`FAILED ${r.errorDigest}`}i(hm,"endOf");function Bb(t){try{return Z(t)??"null"}catch(e){return v(e).message}}i(Bb,"newInputOf");var gm={debug:i(()=>{},"debug"),info:i(()=>{},"info"),warn:i(()=>{},"warn"),error:i(()=>{},"error")};async function fo(t,e,n,r){let o=i(s=>new Date(fe(e,n,r)+s),"due");switch(t.kind){case"refused":return q(t.code,t.why);case"fenced":return{kind:"fenced"};case"drained":return{kind:"given_back",dueAt:o(0),why:"drain"};case"unknown":return n.logFor(e).warn("a hop cannot have what it is to hold; its delivery goes back",{why:t.why}),await Kb(e,t.why,n),{kind:"given_back",dueAt:o(at),why:"it is not known what it may hold"}}}i(fo,"endOf");async function Kb(t,e,{ledger:n,logFor:r,settings:o}){let s=o.giveBacksBeforeAttention;try{await n.deliveries.wereGivenBack(t,s)&&await n.runs.raiseAttention(t,`holdings_unknown: ${e} (given back ${s} times before)`)}catch(a){let{name:d}=v(a);r(t).warn("attention could not be raised",{error:d})}}i(Kb,"askForAPerson");async function km(t,e,n,r){let o=new ro(t,e,n);r.onHop(o);let s=await Hb(o,t,e,n,r);return await o.release(),s.kind==="fenced"&&await Xb(t,e),s}i(km,"carry");async function Hb(t,e,n,r,o){try{return await n.faults("worker.after-claim",e.runId),e.cause==="contain"?await rm(e,n,r,o,t):await Jb(e,n,r,o,t)}catch(s){return s instanceof ne?ex(e,s.message,n):s instanceof de?Zb(e,s,n,r):{kind:"unknown",error:s}}}i(Hb,"carryWith");async function Jb(t,e,n,r,o){let s=no(t.workflow,e.registry);if("absent"in s){let M=await Yc(t,s.absent,e,n);return Pe(t,M,e,n,void 0)}let a=await o.checkAuthority(s.workflow);if(a!==void 0){let M=await fo(a,t,e,n);return Pe(t,M,e,n,void 0)}let d=await Ht(t,s.workflow,e);if(!Jt(d)){if(s.adopts!==void 0&&d.kind==="failed")throw wm(s.adopts,d.failure.message);return Pe(t,d,e,n,void 0)}if(t.deadlineAt!==null&&t.claimedAt>=t.deadlineAt){let M=`the run's deadline ${t.deadlineAt.toISOString()} had passed when a worker claimed it`;return Pe(t,q("deadline",M),e,n,void 0)}if(t.workflowAbsentSince!==null&&!await e.ledger.runs.clearAbsenceIfClaimed(t))return{kind:"fenced"};let u=await o.take(s.workflow);if(u!==void 0)return Pe(t,await fo(u,t,e,n),e,n,void 0);let l={...n,holdsUntilMs:o.untilMs},c=new lt(t,s.workflow,d,e,l,o);o.carriedBy(c),r.onHop(c);let{adopts:m,workflow:f}=s,p=!1,w=i(async(M,H)=>{let ee=await oc(t,d,await H(es(d)),e);if(ee!==void 0)return q("journal_mismatch",ee);let ge=await Qc(t,M,d.journal,e);return p=ge===void 0,ge},"takeOver"),g=await c.run(d.input,m===void 0?void 0:M=>w(m,M));if(m!==void 0&&!p&&g.kind==="unknown"&&Vb(g.error))throw g.error;let I=c.unanswered();if(m!==void 0&&!p&&g.kind==="failed")throw wm(m,g.failure.message);let C=m===void 0||!p?t:{...t,workflow:m},$=await Pe(C,g,e,n,c),K=$.kind!=="fenced"&&$.kind!=="unknown"&&$.kind!=="quarantined";if(e.settings.replayCheck&&K){let M=c.journal().length,ee=ym({claim:C,workflow:f,end:g,unanswered:I,held:o,journalLength:M},e,n);o.isEmpty||await ee}return $}i(Jb,"carryHop");function Vb(t){return t instanceof de||t instanceof ne}i(Vb,"isOfMaterial");function wm(t,e){return new ne(`workflow digest ${t.digest} accepts the run's, but ${e}`)}i(wm,"untrue");async function Pe(t,e,n,r,o){switch(e.kind){case"fenced":case"unknown":return e;case"given_back":{let[s,a]=[o?.journal()??[],o?.standingTries()??[]];return he(()=>a.length===0?cs(t,e,n):ls(t,{journal:s,calls:a,idle:!1,dueAt:e.dueAt},e.why,n),po(t,n,r,o))}case"yielded":{let s=o?.journal()??[],a=s.length-(t.journalLength-t.journalStart),u=o!==void 0&&a===0&&!o.hasTried()&&!o.hasWaited()&&(e.why==="time"||e.why==="grant");if(u&&e.why==="grant")return Pe(t,await fo({kind:"unknown",why:"a grant had expired before a step could start"},t,n,r),n,r,o);if(!u||t.idleYields===0){let l=o?.standingTries()??[];return he(()=>ls(t,{journal:s,calls:l,idle:u},e.why,n),po(t,n,r,o))}return Pe(t,q("no_progress",Yb),n,r,o)}case"parked":case"restarted":{let s=o?.journal()??[];if(e.kind==="restarted"&&s.length===0)return Pe(t,q("no_progress",Qb),n,r,o);let a=await he(()=>e.kind==="parked"?mm(t,s,e.standing,n,r):fm(t,e.input,n),po(t,n,r,o)).catch(d=>{if(d instanceof de)return d;throw d});return a instanceof de?Pe(t,Dn(t,a,n,r),n,r,o):a.kind==="refused"?Pe(t,a.end,n,r,o):a}case"returned":case"failed":{let s=n.registry.find(t.workflow)?.definition,a=await mo(t,s,e,n),d=await he(()=>pm(t,a,n),po(t,n,r,o));if(!d.settled)return{kind:"fenced"};a.status==="FAILED"&&a.errorCode==="effect_unknown"&&await n.ledger.runs.raiseAttention(t,"effect_unknown: an effect may or may not have happened"),_e(d.runStatus)&&await ac(t,n,n.logFor(t));let u=a.status==="FAILED"?a.errorCode:void 0;return{kind:"settled",status:d.runStatus,...u===void 0?{}:{code:u}}}}}i(Pe,"conclude");function po(t,e,n,r){return{chance:e.chance,mayGoOn:i(()=>r?.mayWrite()!==!1&&n.remainingMs()>e.settings.settleReserveMs/2,"mayGoOn"),onPause:i(o=>e.logFor(t).warn("the ledger is out of reach; the hop's end waits",{kind:o.kind}),"onPause")}}i(po,"persistenceOf");var Yb="two invocations in a row ended without a new journal entry: a step does not fit into one",Qb="ctx.restart without a single journaled call before it would go on for ever";async function Xb(t,e){try{await e.ledger.items.acknowledgeWorker(t)}catch(n){e.logFor(t).warn("a worker could not acknowledge its own end",{error:String(n).slice(0,200)})}}i(Xb,"acknowledge");async function Zb(t,e,n,r){try{return await cs(t,Dn(t,e,n,r),n)}catch(o){return{kind:"unknown",error:o}}}i(Zb,"later");async function ex(t,e,n){try{return await n.ledger.runs.quarantineIfClaimed(t,e)?{kind:"quarantined",reason:e}:{kind:"fenced"}}catch(r){return{kind:"unknown",error:r}}}i(ex,"quarantine");var tx=10;async function bm(t,e){let n=new Map;return await Promise.all(t.map(async({messageId:r,body:o})=>{let s=Go(o);s!==void 0&&n.set(r,await nx(s,e))})),n}i(bm,"wakeUp");async function nx(t,{ledger:e,publisher:n,settings:r,log:o,faults:s}){try{let a=await e.arms.runOf(t);if(a===null||!a.open)return{done:!0,reason:"timer_closed"};let{tenantId:d,runId:u,dueInSeconds:l}=a;if(l!==null&&l>0)return{done:!1,reason:"timer_early",retryInSeconds:Math.min(xe,Math.ceil(l))};let c=await e.runs.resume({tenantId:d,runId:u},r.publisherGraceSeconds);return await s("worker.after-wake",u),c===null?{done:!0,reason:"timer_kept"}:(o.info("a run was brought back by its timer",{runId:u,armId:t,lateSeconds:Math.round(-(l??0))}),await n.publish(c),{done:!0,reason:"timer_woke"})}catch(a){return o.warn("a timer's message could not be followed; it comes back",{armId:t,error:v(a).message.slice(0,200)}),{done:!1,reason:"timer_unknown",retryInSeconds:tx}}}i(nx,"wakeArm");async function Qt({tenantId:t,runId:e},n,{codec:r,log:o}){try{let s=await r.encode(JSON.stringify(n),{tenantId:t,runId:e,kind:"error"});return{errorText:s,errorDigest:L(s)}}catch(s){o.error("the codec could not write why a run ends; the next pass tries",{runId:e,code:n.code,error:v(s).message.slice(0,200)});return}}i(Qt,"keptFailure");async function ho(t,e={}){let{ledger:n,publisher:r,faults:o,log:s,settings:a}=t,{found:d,next:u}=await n.deliveries.lapsed(t.pageSize,e);if(d.length===0)return{counts:{lapsed:0,resumed:0,failing:0,failed:0},next:void 0};await o("reanimation.after-select",`${d.length} lapsed`);let l=(await Promise.all(d.map(p=>rx(p,t)))).flat(),c=await n.deliveries.settleLost(l,a);await o("reanimation.after-judgement",`${c.length} judged`);let m=c.filter(p=>p.status==="QUEUED");for(let{runId:p,status:w,enqueueSeq:g}of c)s.warn("a worker was lost",{runId:p,status:w,enqueueSeq:g});return await Promise.all(m.map(p=>r.publish(p))),{counts:{lapsed:d.length,resumed:m.length,failing:c.filter(p=>p.status==="FAILING").length,failed:d.length-l.length},next:u}}i(ho,"reanimate");async function rx(t,e){if(t.onWorkerLoss==="resume"&&t.losses+1<e.settings.maxLosses)return[{...t,errorText:"",errorDigest:""}];let r={code:"ghoul_lost",name:"Lost",message:t.onWorkerLoss==="fail"?`the worker of delivery ${t.seq} was lost, and the workflow does not resume`:`the worker of delivery ${t.seq} was lost, and the run has used up its losses (${t.losses+1})`},o=await Qt(t,r,e);return o===void 0?[]:[{...t,...o}]}i(rx,"withFailure");var go=class{static{i(this,"Heartbeat")}#e;#t=new Set;#n;#r;#o;#i;#a;constructor(e,n){this.#e=e,this.#n=n,this.#r=n}start(e){for(let r of e)this.#t.add(r);if(this.#t.size===0)return;let n=Math.max(10,Math.min(this.#e.beatMs,this.#e.leaseMs/10));this.#o=setInterval(()=>this.#f(),n),this.#a=this.#u([...this.#t])}remove(e){this.#t.delete(e),this.#t.size===0&&this.#d()}async stop(){this.#d(),this.#t.clear(),await this.#i,await this.#a}#d(){clearInterval(this.#o),this.#o=void 0}#m(){return{monotonicMs:this.#e.clock.monotonicMs(),wallMs:this.#e.clock.wallMs()}}#f(){let e=this.#m(),{leaseMs:n,beatMs:r,leaseHeld:o}=this.#e;if(!o&&xm(this.#n,e)>n*.9){this.#l("its own lease could not be extended in time");return}this.#i!==void 0||xm(this.#r,e)<r||(this.#r=e,this.#i=this.#s(e).finally(()=>{this.#i=void 0}))}async#s(e){let{ledger:n,faults:r,leaseMs:o,log:s}=this.#e,a=[...this.#t];try{await r("worker.before-beat",`${a.length} claims`);let d=await n.deliveries.beatIfClaimed(a.map(c=>c.claim),o/1e3);this.#n=e;let u=a.filter(c=>d.has(Em(c)));for(let c of a)u.includes(c)||this.#c(c,"the ledger has given it to nobody or to another");for(let c of u)d.get(Em(c))?.paused===!0&&c.pause();let l=this.#a;this.#a=Promise.resolve(l).then(()=>this.#u(u))}catch(d){s.warn("a heartbeat failed",{claims:a.length,error:String(d).slice(0,200)})}}async#u(e){let{queue:n,queueName:r,leaseMs:o,log:s}=this.#e,a=e.filter(d=>this.#t.has(d)).flatMap(d=>d.receiptHandles);if(a.length!==0)try{let d=await n.changeVisibilities(r,a,Math.ceil(o/1e3));d.length>0&&s.warn("the visibility of messages could not be extended",{messages:d.length})}catch(d){s.warn("the visibility of messages could not be extended",{error:String(d).slice(0,200)})}}#l(e){for(let n of this.#t)this.#c(n,e)}#c(e,n){this.#t.delete(e)&&(this.#e.log.warn("a claim is fenced",{runId:e.claim.runId,enqueueSeq:e.claim.seq,why:n}),e.fence(n),this.#t.size===0&&this.#d())}};function xm(t,e){return Math.max(e.monotonicMs-t.monotonicMs,e.wallMs-t.wallMs)}i(xm,"since");function Em({claim:t}){return`${t.runId}:${t.seq}`}i(Em,"keyOf");async function vm(t,e,n){let r=bm(t,e),o=new Map;for(let d of t){let u=Bn(d.body);if(u===void 0)continue;let l=o.get(Ke(u));l===void 0?o.set(Ke(u),{...u,receiptHandles:[d.receiptHandle]}):l.receiptHandles.push(d.receiptHandle)}let[s,a]=await Promise.all([ox(o,e,n),r]);return Promise.all(t.map(async d=>{let u=a.get(d.messageId);if(u!==void 0)return u.retryInSeconds!==void 0&&await Im(d,u.retryInSeconds,e,n),{messageId:d.messageId,done:u.done,reason:u.reason};let l=Bn(d.body);if(l===void 0)return e.log.error("a message is no delivery; it stays until the dead-letter queue takes it",{messageId:d.messageId,bytes:Buffer.byteLength(d.body)}),{messageId:d.messageId,done:!1,reason:"poison"};let c=s.get(Ke(l))??{done:!1,reason:"unknown_outcome"};return c.retryInSeconds!==void 0&&await Im(d,c.retryInSeconds,e,n),{messageId:d.messageId,done:c.done,reason:c.reason}}))}i(vm,"work");async function ox(t,e,n){let r=[...t.values()];if(r.length===0)return new Map;if(e.draining.aborted)return new Map(r.map(u=>[Ke(u),{done:!1,reason:"draining",retryInSeconds:1}]));let o=new Map,s={monotonicMs:e.clock.monotonicMs(),wallMs:e.clock.wallMs()},a;try{a=await dx(r,e,n)}catch(u){e.log.error("a batch could not be claimed; its messages go back",{count:r.length,error:yo(u)});let l={done:!1,reason:"unclaimed",retryInSeconds:ix};return new Map(r.map(c=>[Ke(c),l]))}for(let[u,l]of await sx(a,t,s,e,n)){let c=ux(u,l,e);c!==void 0&&o.set(Ke({runId:u.runId,enqueueSeq:u.seq}),c)}let d=r.filter(u=>!o.has(Ke(u)));for(let[u,l]of await lx(d,e))o.set(u,l);return o}i(ox,"carryAll");var ix=10;async function sx(t,e,n,r,o){let{limitMs:s,remainingMs:a,endsByForce:d}=o,{leaseMs:u,beatMs:l,leaseHeld:c}=r.settings,m=new go({...r,leaseMs:u,beatMs:l,leaseHeld:c,queueName:o.queue},n),f=t.map(C=>ax(C,e.get(Ke({runId:C.runId,enqueueSeq:C.seq}))));m.start(f.map(C=>C.beating));let p=i(()=>f.forEach(C=>C.drain()),"drain");r.draining.addEventListener("abort",p,{once:!0}),r.draining.aborted&&p();let w=[],g=Promise.all(f.map(async C=>{let $={limitMs:s,remainingMs:a,endsByForce:d,claimedAtMs:n.monotonicMs};w.push([C.claim,await km(C.claim,r,$,{onHop:C.onHop})]),m.remove(C.beating)})),I=await Ne(g,a()-r.settings.settleReserveMs/4);return r.draining.removeEventListener("abort",p),await m.stop(),I||r.exit(`${t.length-w.length} steps are in flight at the end of the invocation`),w}i(sx,"carryBatch");function ax(t,e){let n,r,o=i((d,u)=>u==="fence"?d.fence():d.drain(u),"tell"),s=i(d=>{r=r==="fence"?r:d,n!==void 0&&o(n,d)},"say"),a={claim:t,receiptHandles:e?.receiptHandles??[],fence:i(()=>s("fence"),"fence"),pause:i(()=>s("pause"),"pause")};return{claim:t,beating:a,drain:i(()=>s("drain"),"drain"),onHop:i(d=>{n=d,r!==void 0&&o(d,r)},"onHop")}}i(ax,"carriedRun");function dx(t,e,n){let r=Math.max(1,n.remainingMs()/1e3);return e.ledger.deliveries.claimIfDue(t.map(o=>({...o,token:e.ids.next()})),{worker:e.worker,leaseSeconds:e.settings.leaseMs/1e3,actsForSeconds:n.endsByForce?r+e.settings.actsMarginSeconds:null})}i(dx,"claim");function ux(t,e,n){let r=n.logFor(t);switch(e.kind){case"settled":return r[e.code===void 0?"info":"warn"]("run settled",{status:e.status,workflow:t.workflow.name,...e.code===void 0?{}:{code:e.code,fix:"`ghouls show` tells why"}}),{done:!0,reason:e.status};case"handed_over":return r.info("the run goes on in another hop",{why:e.why}),{done:!0,reason:"handed_over"};case"parked":return r.info("the run waits",{status:e.status}),{done:!0,reason:e.status};case"contained":return r.info("a contain delivery has ended",{outcome:e.outcome}),{done:!0,reason:`contain_${e.outcome}`};case"quarantined":return r.error("run quarantined",{reason:e.reason}),{done:!0,reason:"quarantined"};case"fenced":r.warn("the claim was taken away; nothing more was written");return;case"unknown":return r.error("the hop's outcome is unknown; the claim stays as it is",{error:yo(e.error)}),{done:!1,reason:"unknown_outcome"}}}i(ux,"verdictOf");async function lx(t,e){if(t.length===0)return[];try{let n=await e.ledger.deliveries.unclaimed(t),r=[...n].filter(([,a])=>a.deliveryStatus==="CLAIMED"&&(a.leaseEndsInSeconds??1)<=0);r.length>0&&(await ho({...e,pageSize:r.length},{runIds:r.map(([a])=>a.slice(0,a.indexOf(":")))}),n=await e.ledger.deliveries.unclaimed(t));let o=new Map(t.map(a=>[a,ei(n.get(Ke(a)))])),s=t.filter(a=>o.get(a)?.reason==="paused");return s.length>0&&await e.ledger.deliveries.markSkippedAsPaused(s),[...o].map(([a,d])=>{let{runId:u,enqueueSeq:l}=a;return e.log.info("a delivery was skipped",{runId:u,enqueueSeq:l,reason:d.reason}),[Ke(a),d.deleteMessage?{done:!0,reason:d.reason}:{done:!1,reason:d.reason,retryInSeconds:d.retryInSeconds}]})}catch(n){return e.log.error("skipped deliveries could not be read; their messages go back",{error:yo(n)}),[]}}i(lx,"explain");async function Im(t,e,n,r){try{await n.queue.changeVisibility(r.queue,t.receiptHandle,e)}catch(o){n.log.warn("a message's visibility could not be changed",{messageId:t.messageId,error:yo(o)})}}i(Im,"putBack");function Ke(t){return`${t.runId}:${t.enqueueSeq}`}i(Ke,"keyOf");function yo(t){let{name:e,message:n}=v(t);return`${e}: ${n}`.slice(0,300)}i(yo,"nameOf");function _o({micros:t,id:e}){return Buffer.from(`${t} ${e}`).toString("base64url")}i(_o,"cursorOf");function wo(t){let[e="",n=""]=Buffer.from(t,"base64url").toString().split(" ");if(!/^\d{1,18}$/.test(e)||!W(n))throw new b("invalid_request","the cursor is none of ours",{fix:"Take nextCursor of the page before, or none for the first page."});return{micros:e,id:n}}i(wo,"positionOf");async function Am(t,e,n,r){if(!sm(e))throw ko();let o=oo(t,t?.callbackDigest,e);if(t===null||!o||t.callbackExpired)throw ko();return On(()=>cx(t,e,n,r))}i(Am,"takeReport");async function cx(t,e,n,r){let{answer:o,outcome:s}=await Yt(t,n,r.codec);if(o.state==="unknown")throw await mx(t,o.why,r),new b("invalid_request",o.why,{fix:"Report a result that JSON can give back unchanged."});let a,d,u=await r.ledger.attempts.change(t,l=>{if(a=d=void 0,!oo(l,l.callbackDigest,e)||l.callbackExpired?a=ko():l.closedAt!==null&&([a,d]=[gx(l.status),l]),a===void 0)return fx(l,o,s)},r.settings);if(d!==void 0&&await fs(d,o,s,r),a!==void 0)throw a;if(u===null)throw ko();return await tt(t,u,r),u.status}i(cx,"record");async function mx(t,e,n){let r=await n.ledger.attempts.change(t,o=>o.token!==t.token||o.closedAt!==null||o.status==="UNCERTAIN"?void 0:{status:"UNCERTAIN",why:`it reported what cannot be kept: ${e}`,by:"callback",acknowledged:!0,missed:!1,nextLookSeconds:Be(o,"UNCERTAIN")},n.settings);await tt(t,r,n)}i(mx,"keepUnreadable");function fx(t,e,n){let r=e.state==="accepted"||e.state==="running",o=mt(t);if(r&&o.demand==="no")return hx(t);let s=pt(o,e),a=s.kind==="move"&&!r;if(e.state==="cancelled"&&s.kind==="keep")return px(t,s.why);let d=ms(t,s,e,{outcome:n,by:"callback",usesCallback:a});return a?d:{...d,nextLookSeconds:Be(t,d.status)}}i(fx,"changeByReport");function px(t,e){let n=t.traits.lookup==="none"?"UNCERTAIN":t.status,r=Be({...t,looks:0},"UNCERTAIN");return{status:n,why:e,by:"callback",acknowledged:!0,missed:!1,nextLookSeconds:r}}i(px,"cancelledEarly");function hx({status:t}){return{status:t,by:"callback",acknowledged:!0,missed:!1,onlyAlive:!0,nextLookSeconds:0}}i(hx,"aliveStill");function ko(){return new b("unauthenticated","the callback carries no token of this attempt, or the token's time is over",{fix:"Send the token that came with the submission, in the header Ghouls-Callback-Token."})}i(ko,"notAuthentic");function gx(t){return new b("attempt_settled",`the attempt is ${t} already`,{fix:"Nothing is to be done: a report is taken once."})}i(gx,"settled");var Sm={publisherGraceSeconds:15};function Rm(t){let{ledger:e,codec:n,publisher:r,faults:o,log:s}=t,a={ledger:e,codec:n,publisher:{publish:i(d=>st(r,d),"publish")},log:s,settings:Sm};return{get:i(async(d,u)=>{if(!W(u))return;let l=await e.attempts.get({tenantId:d,attemptId:u});return l===null?void 0:On(()=>_x(l,n))},"get"),list:i(async(d,u,l)=>{let{attempts:c,next:m}=await e.attempts.page(d,u,{limit:l.limit,...l.cursor===void 0?{}:{after:wo(l.cursor)}});return{attempts:c.map($m),nextCursor:m===void 0?null:_o(m)}},"list"),report:i(async(d,u,l)=>{let c=W(d)?await e.attempts.forCallback(d):null,m=await Am(c,u,l,a);return await o("callbacks.after-commit",d),{attemptId:d,status:m}},"report"),resolve:i((d,u,l)=>On(async()=>{let{tenantId:c,subject:m}=d,f=W(u)?await e.attempts.get({tenantId:c,attemptId:u}):null;if(f===null)throw wx();let{answer:p,outcome:w}=await Yt(f,yx(l),n);if(p.state==="unknown")throw new b("invalid_request",p.why,{fix:"Give a result that JSON can hold."});let g=`operator ${m}`,I=f,C=await e.attempts.change(f,$=>(I=$,$.status!=="UNCERTAIN"||!$.late?void 0:{status:Cm[l.outcome],by:g,acknowledged:!1,missed:!1,nextLookSeconds:0,...w&&{report:w.report}}),Sm,{actor:m,reason:l.reason});if(C===null){let{status:$,closedBy:K,runId:M}=I;if($==="UNCERTAIN")throw ys();if(K===g&&$===Cm[l.outcome]&&await lo(I,n)===w?.canonical)return{attemptId:u,runId:M,status:$,resumed:!1};throw new b("attempt_settled",`the attempt is ${$}: only one that is UNCERTAIN can be settled by a word`,{fix:"GET /v1/attempts/<id> has its state; cancel its run to have the job cancelled."})}return await tt(f,C,a),{attemptId:u,runId:f.runId,status:C.status,resumed:C.resumption!==null}}),"resolve")}}i(Rm,"createAttempts");function ys(){return new b("attempt_under_way","a worker may still be sending the job to its service",{fix:"Wait, ask the service again after that, and then say how the job has ended."})}i(ys,"underWay");var Cm={succeeded:"SUCCEEDED",failed:"FAILED",cancelled:"CANCELLED"};function yx(t){switch(t.outcome){case"succeeded":return{state:"succeeded",result:t.result??null};case"failed":return{state:"failed",error:t.error??{code:"operator",message:t.reason}};case"cancelled":return{state:"cancelled"}}}i(yx,"answerOf");function $m(t){let e=i(n=>n?.toISOString()??null,"iso");return{attemptId:t.attemptId,runId:t.runId,workflow:t.workflow,name:t.name,status:t.status,service:t.service,executor:{adapter:t.adapter,version:t.adapterVersion,digest:t.serviceDigest},digest:t.requestDigest,idempotencyKey:t.idempotencyKey,submissions:t.submissions,uncertain:t.uncertainReason,trouble:t.trouble===null?null:{why:t.trouble.why,at:t.trouble.at.toISOString()},cancelling:t.cancelReason,contradiction:t.contradiction,createdAt:t.createdAt.toISOString(),acknowledgedAt:e(t.acknowledgedAt),heartbeatAt:e(t.heartbeatAt),deadlineAt:e(t.deadlineAt),nextLookAt:e(t.nextLookAt),closedAt:e(t.closedAt),closedBy:t.closedBy}}i($m,"summaryOf");async function _x(t,e){let{tenantId:n,runId:r,requestText:o,storedDigest:s}=t,a=await ue(o,s,"a job",l=>e.decode(l,{tenantId:n,runId:r,kind:"job"})),d=await lo(t,e),u=d===void 0?null:JSON.parse(d);return{...$m(t),request:JSON.parse(a),result:t.status==="SUCCEEDED"?u:null,error:t.status==="FAILED"?u:null}}i(_x,"viewOf");function wx(){return new b("not_found","there is no such attempt",{fix:"GET /v1/attempts lists those that this token may see."})}i(wx,"absent");function Om({ledger:t,codec:e,publisher:n,faults:r}){let o=i(async a=>{let[d,u]=await Promise.all([xx(a,e),t.consents.decisions(a)]);return{...Dm(a),detail:d.detail,decisions:await Ex(a,u,e)}},"viewOf"),s=i(async a=>{let d=await t.consents.decisions(a);return{...Dm(a),decisions:d.map(({by:u,verdict:l,at:c})=>({by:u,verdict:l,at:c.toISOString()})),problem:a.intact?null:`its ${Nm}`}},"summaryOf");return{get:i(async(a,d)=>{if(!W(d))return;let u=await t.consents.get({tenantId:a,consentId:d});return u===null?void 0:o(u)},"get"),list:i(async(a,d,u)=>{let{consents:l,next:c}=await t.consents.page(a,d,{limit:u.limit,...u.cursor===void 0?{}:{after:wo(u.cursor)}});return{consents:await Promise.all(l.map(s)),nextCursor:c===void 0?null:_o(c)}},"list"),decide:i(async(a,d,u)=>{let l=W(d)?await kx({ledger:t,codec:e},a,d,u):null;if(l===null)throw Ix();await r("consents.after-commit",d);let{judgement:c,consent:m,resumption:f}=l;return f!==null&&await st(n,f),bx(c,m),{consentId:d,runId:m.runId,status:m.status,repeated:c.kind==="repeated",resumed:f!==null}},"decide")}}i(Om,"createConsents");async function kx({ledger:t,codec:e},n,r,{verdict:o,digest:s,comment:a}){let{tenantId:d,subject:u,roles:l}=n,c=await t.consents.get({tenantId:d,consentId:r});if(c===null)return null;let m=a===void 0?null:await e.encode(a,{tenantId:d,runId:c.runId,kind:"comment"});return t.consents.decide({tenantId:d,consentId:r},{subject:u,roles:l,verdict:o,digest:s,commentText:m,commentDigest:m===null?null:L(m)},{publisherGraceSeconds:15})}i(kx,"decide");function bx(t,e){switch(t.kind){case"counts":case"repeated":return;case"not_a_decider":throw new b("not_a_decider","this consent is for others to decide",{fix:`It is decided by ${e.deciders.join(", ")}.`});case"requester":throw new b("not_a_decider","whoever asked for the run may not decide its consent",{fix:"Let another decider decide, or set requesterMayDecide in the workflow."});case"changed":throw new b("consent_changed","the decision names another request than the one that is open",{fix:`Show the consent again; its digest is ${e.requestDigest}.`});case"contradicts":throw new b("consent_closed",`you have said "${t.verdict}" before, and a word stands`,{fix:"Cancel the run, or let the other deciders decide."});case"expired":throw new b("consent_closed",`the consent's time is over: it is ${e.status}`,{fix:"Ask for the run again."});case"closed":throw new b("consent_closed",`the consent is ${t.status} already, by ${t.by}`,{fix:"GET /v1/consents/<id> has all decisions."})}}i(bx,"refuseWhatDidNotCount");var Nm="request disagrees with its digest";async function xx(t,e){let{tenantId:n,runId:r,requestText:o,storedDigest:s}=t;if(L(o)!==s)throw new b("integrity_fault",`of consent ${t.consentId} the ${Nm}`);let a=await e.decode(o,{tenantId:n,runId:r,kind:"consent"});return JSON.parse(a)}i(xx,"requestOf");async function Ex({tenantId:t,runId:e},n,r){return Promise.all(n.map(async({by:o,verdict:s,at:a,commentText:d})=>({by:o,verdict:s,at:a.toISOString(),comment:d===null?null:await r.decode(d,{tenantId:t,runId:e,kind:"comment"})})))}i(Ex,"decodedDecisions");function Dm(t){return{consentId:t.consentId,runId:t.runId,workflow:t.workflow,title:t.title,status:t.status,digest:t.requestDigest,deciders:[...t.deciders],quorum:t.quorum,requestedBy:t.requestedBy,requesterMayDecide:t.requesterMayDecide,onExpiry:t.onExpiry,source:t.source,createdAt:t.createdAt.toISOString(),expiresAt:t.expiresAt?.toISOString()??null,closedAt:t.closedAt?.toISOString()??null,closedBy:t.closedBy}}i(Dm,"shownOf");function Pm(t){return z("consent").includes(t)}i(Pm,"isConsentStatus");function Ix(){return new b("not_found","there is no such consent",{fix:"GET /v1/consents lists those that this token may see."})}i(Ix,"absent");async function Lm(t,e,{filter:n,reason:r,dryRun:o=!1,limit:s=Te.MAX_CANCEL,cursor:a}){let{ledger:d,settings:u}=t,{tenantId:l,subject:c}=e,{admittedAfter:m,admittedBefore:f,...p}=n,w={...p,...m===void 0?{}:{after:new Date(m)},...f===void 0?{}:{before:new Date(f)}},g={limit:s,...a===void 0?{}:{cursor:a}},{runs:I,nextCursor:C}=await d.runs.matching(l,w,g),$=[];for(let M of I){if(o||G.includes(M.status)){$.push(qm(M,M.status,!G.includes(M.status)));continue}let H={tenantId:l,runId:M.runId},ee=await d.runs.cancel(H,{actor:c,reason:r},u.actsMarginSeconds);ee!==null&&$.push(qm(M,ee.status,ee.cancelled))}let K=i(M=>$.filter(H=>H.outcome===M).length,"count");return{dryRun:o,cancelled:K("cancelled"),ending:K("ending"),ended:K("ended"),runs:$,nextCursor:C}}i(Lm,"cancelMatching");function qm({runId:t,workflow:e},n,r){let o=r?"cancelled":_e(n)?"ended":"ending";return{runId:t,workflow:e,outcome:o,status:n}}i(qm,"told");function _s(t){return t.kind==="worker"?`worker-${t.key}`:`${t.kind}-${L(t.key).slice(0,12)}`}i(_s,"itemId");function Tm(t){return{id:_s(t),kind:t.kind,subject:t.kind==="worker"||t.kind==="child"?t.worker:vx(t.key),enqueueSeq:t.seq,overAt:t.overAt?.toISOString()??null,createdAt:t.createdAt.toISOString(),tries:t.tries,lastError:t.lastError,acknowledgedAt:t.acknowledgedAt?.toISOString()??null,acknowledgedBy:t.acknowledgedBy,acknowledgement:t.acknowledgement}}i(Tm,"itemView");function vx(t){let[,e,,n,r]=JSON.parse(t),o=r===1?"":` (use ${r})`;return`${n}${o}${e===""?"":` in ${e}`}`}i(vx,"callOf");function zm({ledger:t,ids:e}){return{list:i(async n=>({pauses:(await t.pauses.ofTenant(n)).map(Mn)}),"list"),set:i(async(n,r)=>{r.scope==="all"&&Mm(n);let{created:o,pause:s}=await t.pauses.set({pauseId:e.next(),scope:r.scope,tenantId:r.scope==="all"?null:n.tenantId,workflow:r.scope==="workflow"?r.workflow:null,actor:n.subject,reason:r.reason});return{created:o,pause:Mn(s)}},"set"),lift:i(async(n,r,o)=>{let s=W(r)?await t.pauses.get(r):null;if(s===null||s.tenantId!==null&&s.tenantId!==n.tenantId)throw jm();s.tenantId===null&&Mm(n);let a=await t.pauses.lift(r,{actor:n.subject,reason:o});if(a===null)throw jm();return{lifted:a.lifted,pause:Mn(a.pause)}},"lift")}}i(zm,"createPauses");function Mm({permissions:t}){if(!t.includes("deployment:pause"))throw new b("forbidden","This needs the permission deployment:pause, which the token does not have: it reaches beyond your tenant.",{fix:"Name your tenant or a workflow of it; or use a key that has it: `ghouls keys create --tenant <name> --subject <name> --role operator --permission deployment:pause`."})}i(Mm,"mustReachAll");function Mn({pauseId:t,scope:e,tenantId:n,workflow:r,by:o,reason:s,at:a}){return{pauseId:t,scope:e,tenantId:n,workflow:r,by:o,reason:s,at:a.toISOString()}}i(Mn,"pauseView");function bo(t,e){if(!Le.includes(t.status))return[];let{tenantId:n,workflow:r,pause:o}=t,s=o===null?[]:[{...o,scope:"run",pauseId:null}],a=e.filter(d=>Fo(d,{tenantId:n,workflow:r.name}));return[...s,...a].map(({scope:d,pauseId:u,by:l,reason:c,at:m})=>({scope:d,pauseId:u,by:l,reason:c,at:m.toISOString()}))}i(bo,"heldBy");function jm(){return new b("not_found","There is no such pause.",{fix:"GET /v1/pauses has the pauses that this token may see."})}i(jm,"absent");function Gm({ledger:t,publisher:e,settings:n}){let r=i(async(s,a)=>(await t.items.ofRun(s)).find(d=>d.acknowledgedAt===null&&_s(d)===a),"openItem"),o=i(async s=>{let[a,d]=await Promise.all([t.runs.get(s),t.pauses.ofTenant(s.tenantId)]);if(a===null)throw ke();return bo(a,d)},"pausesOf");return{cancel:i(async(s,a,d)=>{if(!W(a))throw ke();let u={tenantId:s.tenantId,runId:a},l=await t.runs.cancel(u,{actor:s.subject,reason:d},n.actsMarginSeconds);if(l===null)throw ke();return{runId:a,cancelled:l.cancelled,status:l.status}},"cancel"),cancelMatching:i((s,a)=>Lm({ledger:t,settings:n},s,a),"cancelMatching"),clear:i(async(s,a,d)=>{if(!W(a))throw ke();let u=await t.runs.clear({tenantId:s.tenantId,runId:a},{actor:s.subject,reason:d},15);if(u===null)throw ke();return u.resumption!==null&&await e.publish(u.resumption),{runId:a,cleared:u.cleared,status:u.status}},"clear"),pause:i(async(s,a,d)=>{if(!W(a))throw ke();let u={tenantId:s.tenantId,runId:a},l=await t.runs.pause(u,{actor:s.subject,reason:d});if(l===null)throw ke();return{runId:a,...l,pauses:await o(u)}},"pause"),unpause:i(async(s,a,d)=>{if(!W(a))throw ke();let u={tenantId:s.tenantId,runId:a},l=await t.runs.unpause(u,{actor:s.subject,reason:d});if(l===null)throw ke();let{unpaused:c,status:m,resumption:f}=l;return f!==null&&await e.publish(f),{runId:a,unpaused:c,status:m,pauses:await o(u)}},"unpause"),resolve:i(async(s,a,d,u)=>{if(!W(a))throw ke();let l={tenantId:s.tenantId,runId:a},c=await r(l,d);if(c===void 0)throw ke();let{kind:m,key:f}=c;if(m==="child")throw Ax(f);let p=await t.items.acknowledge(l,{kind:m,key:f,by:"operator",words:u},{actor:s.subject,reason:u});if(p===null)throw m==="attempt"&&await r(l,d)!==void 0?ys():ke();let w=p.ended??(await t.runs.get(l))?.status;if(w===void 0)throw ke();return{runId:a,item:d,openItems:p.openItems,status:w}},"resolve")}}i(Gm,"createControl");function Ax(t){return new b("child_open",`child ${t} has not ended, and no word can say that it has`,{fix:`Cancel it, or settle its own items: \`ghouls show ${t}\` lists them.`})}i(Ax,"childOpen");function ke(){return new b("not_found","there is no such run, or no such open item of it",{fix:"Check the ids: `ghouls show <run id>` lists the items of a run."})}i(ke,"absent");var Sx="0".repeat(64);function Fm({ledger:t,log:e}){return async n=>{let r=So(n);if(r===void 0)return;let o=await t.keys.byId(r.keyId),s=ft(r.digest,o?.digest??Sx);if(o===null||!s||o.expired||o.revokedAt!==null)return;o.useIsDue&&await Cx(o,t,e);let{tenantId:a,subject:d,roles:u,permissions:l}=o;return{tenantId:a,subject:d,roles:u,permissions:l.filter(Uo)}}}i(Fm,"createKeyAuthenticator");async function Cx(t,e,n){try{await e.keys.markUsed(t)}catch(r){n.warn("the use of a key could not be recorded",{keyId:t.keyId,name:v(r).name})}}i(Cx,"markUsed");function Wm(t){return{check:i(async({tenantId:e,subject:n,roles:r,required:o})=>{let s=o.filter(u=>!r.includes(u));if(s.length>0)return{outcome:"revoked",reason:`it was admitted without the role ${Um(s)}: submit it with a key that has that`};let a=await t.keys.rolesOfSubject({tenantId:e,subject:n});if(a===null)return{outcome:"revoked",reason:"it has no key that is neither revoked nor expired"};let d=o.filter(u=>!a.includes(u));return d.length===0?{outcome:"valid"}:{outcome:"revoked",reason:`no usable key of it has the role ${Um(d)}`}},"check")}}i(Wm,"createKeyAuthority");function Um(t){return t.map(e=>`"${e}"`).join(", ")}i(Um,"inWords");function Bm(t){return{acquire:i(async({tenantId:e,name:n,subject:r,roles:o})=>{let s=[Rx(r),...o.map(d=>`role:${d}`)],a=await t.grants.live({tenantId:e,name:n},s);if(a===null){let d=s.join(", ");return{outcome:"refused",reason:`in tenant "${e}" no grant that is neither revoked nor expired names ${d}; \`ghouls grants create ${n} --tenant ${e} --holder ${s[0]}\` makes one`}}return{outcome:"granted",...a.expiresAt===null?{}:{expiresAt:a.expiresAt}}},"acquire")}}i(Bm,"createLedgerGrants");function Rx(t){return t.startsWith("user:")?t:`user:${t}`}i(Rx,"holderOf");var $x={bytesPerRun:262144,bytes:4194304,endedRuns:32},Dx=256,xo=class{static{i(this,"LiveRing")}#e;#t=new Map;#n=new Set;#r=0;constructor(e=$x){this.#e=e}write(e){let{runId:n}=e,r=this.#t.get(n)??{events:[],bytes:0};for(this.#t.delete(n),this.#t.set(n,r),this.#n.delete(n),r.events.push(e),this.#o(r,Km(e));r.bytes>this.#e.bytesPerRun;){let o=r.events.shift();if(o===void 0)break;this.#o(r,-Km(o))}for(let o of this.#t.keys()){if(this.#r<=this.#e.bytes)break;this.#i(o)}}end({runId:e}){if(!this.#t.has(e))return;this.#n.delete(e),this.#n.add(e);let[n]=this.#n;this.#n.size>this.#e.endedRuns&&n!==void 0&&this.#i(n)}read(e){return[...this.#t.get(e)?.events??[]]}clear(){for(let e of this.#t.keys())this.#i(e)}#o(e,n){e.bytes+=n,this.#r+=n}#i(e){this.#r-=this.#t.get(e)?.bytes??0,this.#t.delete(e),this.#n.delete(e)}};function Km({channel:t,chunk:e}){return Dx+2*(t.length+e.length)}i(Km,"sizeOf");function Hm(t){let{ledger:e,codec:n}=t;return{getRun:i(async(r,o)=>{if(!W(o))return;let s=await e.runs.get({tenantId:r,runId:o});if(s===null)return;let a={tenantId:r,runId:o},[d,u,l,c]=await Promise.all([e.items.ofRun(a),e.arms.openOfRun(a),e.reservations.ofRun(a),e.pauses.ofTenant(r)]);return Ox(s,{items:d,arms:u,reservations:l,pauses:c},n)},"getRun"),listRuns:i(async(r,o,s)=>{let[{runs:a,nextCursor:d},u]=await Promise.all([e.runs.page(r,o,s),e.pauses.ofTenant(r)]);return{runs:a.map(l=>Jm(l,u)),nextCursor:d}},"listRuns"),getTimeline:i(async(r,o)=>{if(!W(o))return;let s={tenantId:r,runId:o},a=await e.runs.get(s);if(a===null)return;let[d,u]=await Promise.all([e.deliveries.ofRun(s),e.journal.read(s)]);return{runId:o,status:a.status,entries:Nx(a,d,u)}},"getTimeline")}}i(Hm,"createReads");var vt=i(t=>t?.toISOString()??null,"iso");function Jm(t,e){let n=i(r=>r===null?null:{reason:r.reason,at:r.at.toISOString()},"flag");return{runId:t.runId,parentRunId:t.parentRunId,redriveOf:t.redriveOf,redrivenAs:t.redrivenAs,workflow:t.workflow,status:t.status,queue:t.queue,priority:t.priority,agent:t.agent,idempotencyKey:t.idempotencyKey,requestedBy:t.requestedBy,enqueueSeq:t.enqueueSeq,steps:t.journalLength,errorCode:t.errorCode,attention:n(t.attention),quarantine:n(t.quarantine),pausedAt:vt(t.pause?.at??null),pauses:bo(t,e),deadlineAt:vt(t.deadlineAt),createdAt:t.createdAt.toISOString(),startsAt:vt(t.startsAt),startedAt:vt(t.startedAt),finishedAt:vt(t.finishedAt)}}i(Jm,"summaryOf");async function Ox(t,e,n){let{tenantId:r}=t,o=i(async(s,a,d=t.runId)=>s===null?null:JSON.parse(await n.decode(s,{tenantId:r,runId:d,kind:a})),"read");return{...Jm(t,e.pauses),waits:e.arms.map(({call:{kind:s,name:a,scope:d},dueAt:u,consentId:l,attemptId:c,childRunId:m})=>({kind:s,name:a,scope:d,dueAt:vt(u),consentId:l,attemptId:c,childRunId:m})),reservations:e.reservations.map(s=>({...s,askedAt:s.askedAt.toISOString(),heldAt:vt(s.heldAt)})),input:await o(t.inputText,"input",t.inputStoredFor),output:await o(t.outputText,"output"),error:await o(t.errorText,"error"),containment:e.items.map(Tm)}}i(Ox,"viewOf");function Nx(t,e,n){let r=[{kind:"admitted",at:t.createdAt.toISOString()}];for(let s of e)r.push(...qx(s));for(let s of n)r.push({kind:"step",at:s.completedAt.toISOString(),enqueueSeq:s.seq,ordinal:s.ordinal,call:s.kind,name:s.name,scope:s.scope,nth:s.nth,outcome:s.outcome,tries:s.tries,startedAt:s.startedAt.toISOString()});t.finishedAt!==null&&r.push({kind:"finished",at:t.finishedAt.toISOString(),status:t.status,errorCode:t.errorCode});let o=i(s=>Px.indexOf(s.kind),"rank");return r.toSorted((s,a)=>s.at===a.at?o(s)-o(a):s.at<a.at?-1:1)}i(Nx,"timelineOf");var Px=["admitted","delivery","published","claimed","step","worker_ended","fenced","settled","finished"];function qx(t){let{seq:e,cause:n,status:r,publications:o}=t,s=[{kind:"delivery",at:t.createdAt.toISOString(),enqueueSeq:e,cause:n,status:r,dueAt:t.dueAt.toISOString()}];t.publishedAt!==null&&s.push({kind:"published",at:t.publishedAt.toISOString(),enqueueSeq:e,publications:o});let a=t.claimedBy??"unknown";if(t.claimedAt!==null&&s.push({kind:"claimed",at:t.claimedAt.toISOString(),enqueueSeq:e,worker:a}),t.workerEndedAt!==null){let d=t.workerEnd??"unknown";s.push({kind:"worker_ended",at:t.workerEndedAt.toISOString(),enqueueSeq:e,worker:a,how:d})}return t.settledAt!==null&&t.outcome!==null&&s.push({kind:"settled",at:t.settledAt.toISOString(),enqueueSeq:e,outcome:t.outcome}),t.fencedAt!==null&&s.push({kind:"fenced",at:t.fencedAt.toISOString(),enqueueSeq:e}),s}i(qx,"ofDelivery");async function Vm(t,e){let{ledger:n,publisher:r,faults:o,log:s,settings:a}=t,{found:d,next:u}=await n.children.ends(t.pageSize,e);d.length>0&&await o("children.after-select",`${d.length} ends`);let[l,c,m]=[0,0,0];for(let f of d){let{runId:p,parentRunId:w}=f;try{let g=await n.children.tellParent(f,a.publisherGraceSeconds);if(await o("children.after-tell",p),g.ended!==null&&(c+=1),g.resumption===null)continue;l+=1,s.info("a run was brought back by the end of its child",{runId:w,childRunId:p}),await r.publish(g.resumption)}catch(g){m+=1,s.warn("the end of a child could not be told",{runId:p,error:String(g).slice(0,200)})}}return{counts:{due:d.length,resumed:l,ended:c,failed:m},next:u}}i(Vm,"tellParents");async function Ym(t,e){let{ledger:n,faults:r,log:o}=t,{found:s,next:a}=await n.items.due(t.pageSize,e);s.length>0&&await r("containment.after-select",`${s.length} runs`);let[d,u]=[0,0];for(let l of s)try{let c=await n.items.contain(l,t.settings.maxContainDeliveries);await r("containment.after-look",l.runId),c.ended!==null?(d+=1,o.info("a run has ended, and nothing of it can act any more",{runId:l.runId,status:c.ended})):c.needsWord&&await n.runs.raiseAttention(l,"containment: something of the run waits for a word"),c.children&&await Lx(l,t)}catch(c){u+=1,o.warn("a run's items could not be looked at",{runId:l.runId,error:String(c).slice(0,200)})}return{counts:{due:s.length,ended:d,failed:u},next:a}}i(Ym,"contain");async function Lx(t,{ledger:e,faults:n,log:r,settings:o}){let s={actor:`run ${t.runId}`,reason:"its parent goes on without it"};for(let a of await e.children.toCancel(t))try{await e.children.cancel(a,s,o.actsMarginSeconds),await n("containment.after-cancel",a.runId)}catch(d){r.warn("a child could not be cancelled",{runId:a.runId,error:String(d).slice(0,200)})}}i(Lx,"cancelChildren");function Tx(t){return Math.min(3600,30*2**Math.min(t,10))}i(Tx,"nextLookSeconds");async function Qm(t,e){let{ledger:n,faults:r,log:o}=t,{found:s,next:a}=await n.consents.toLookUp(t.pageSize,e);s.length>0&&await r("consents.after-select",`${s.length} due`);let d=await Promise.all(s.map(async l=>{try{return await n.consents.postponeLookUp(l,Tx(l.looks)),await Mx(l,t)}catch(c){return o.warn("a decision source could not be asked",{runId:l.runId,source:l.source,error:v(c).message.slice(0,200)}),"failed"}})),u=i(l=>d.filter(c=>c===l).length,"count");return{counts:{due:s.length,decided:u("decided"),failed:u("failed")},next:a}}i(Qm,"lookUpConsents");async function Mx(t,e){let{ledger:n,publisher:r,codec:o,faults:s,log:a,settings:d}=e,u=t.source??"",l=Object.hasOwn(e.decisionSources,u)?e.decisionSources[u]:void 0;if(l===void 0)throw new Error(`the configuration has no decision source "${u}"`);let{tenantId:c,runId:m,consentId:f,title:p,requestText:w,requestDigest:g}=t,I=JSON.parse(await o.decode(w,{tenantId:c,runId:m,kind:"consent"})),C=new AbortController,$=Yo(await Ze(l.lookUp({tenantId:c,runId:m,consentId:f,title:p,digest:g,detail:I.detail},C.signal),d.ownerDeadlineMs).finally(()=>C.abort()));if(await s("consents.after-look",f),$.outcome==="pending")return"pending";let K=$.comment??null,M=K===null?null:await o.encode(K,{tenantId:c,runId:m,kind:"comment"}),H=await n.consents.decide({tenantId:c,consentId:f},{subject:`source:${u}/${$.by}`.slice(0,300),roles:[],verdict:$.outcome,digest:g,commentText:M,commentDigest:M===null?null:L(M)},{publisherGraceSeconds:d.publisherGraceSeconds,asSource:!0});if(H===null)return"pending";H.resumption!==null&&await r.publish(H.resumption);let{outcome:ee}=$;if(H.judgement.kind!=="counts"){let{status:ge}=H.consent;return a.info("a decision source was late",{runId:m,source:u,outcome:ee,status:ge}),"late"}return a.info("a decision source has decided a consent",{runId:m,source:u,outcome:ee}),"decided"}i(Mx,"lookUp");async function Zm(t,e){let{ledger:n,faults:r,pageSize:o}=t,{found:s,next:a}=await n.attempts.due(o,e);s.length>0&&await r("delegates.after-select",`${s.length} due`);let d=await Promise.all(s.map(c=>jx(c,t))),u=i(c=>d.filter(m=>m===c).length,"count"),l={submitted:u("submitted"),ended:u("ended"),failed:u("failed")};return{counts:{due:s.length,...l},next:a}}i(Zm,"lookAfterJobs");async function jx(t,e){let{runId:n,attemptId:r,service:o}=t,{clock:s,settings:a}=e,d=s.monotonicMs()+a.ownerDeadlineMs;try{let u=await zx(t,{...e,withinMs:i(()=>d-s.monotonicMs(),"withinMs")});return await e.faults("delegates.after-look",r),u}catch(u){let l=v(u).message.slice(0,300);return e.log.warn("a job could not be looked after",{runId:n,attemptId:r,service:o,error:l}),cm(u)&&await Wx(t,l,e),"failed"}}i(jx,"lookAt");async function zx(t,e){let n=t.heartLapsed?await Gx(t,e):t;if(n===void 0)return"open";switch(Co(mt(n))){case"drop":return ks(await bs(n,{state:"cancelled"},e));case"submit":return await ef(n,e)?"submitted":"open";case"wait":return ks(await Fx(n,e));case"lookUp":return Xm(n,await ws("lookUp",n,e),e);case"cancel":return Xm(n,await Ux(n,e),e)}}i(zx,"act");async function Gx(t,e){let n=`it has said nothing for more than ${t.heartbeatSeconds} s`,r=await e.ledger.attempts.change(t,o=>o.status===t.status&&o.token===t.token&&o.heartLapsed?{status:"UNCERTAIN",why:n,by:"time",acknowledged:!1,missed:!1,nextLookSeconds:Be(o,"UNCERTAIN")}:void 0,e.settings);return await tt(t,r,e),r===null?void 0:{...t,status:"UNCERTAIN",uncertainReason:n,looks:0,misses:0,heartLapsed:!1}}i(Gx,"withoutHeartbeat");async function Fx(t,e){let{status:n,demand:r}=mt(t),o=n==="SUBMITTED"||n==="RUNNING";return n==="DEFINED"||t.unsent||o&&r!=="no"?e.ledger.attempts.change(t,s=>s.status===n&&s.token===t.token?{status:n,by:"time",acknowledged:!1,missed:!1,nextLookSeconds:Be(s,n)}:void 0,e.settings):bs(t,{state:"unknown",why:"its service can be asked neither about a job nor to cancel one"},e)}i(Fx,"waitOn");async function Ux(t,e){let n=t.overdue&&t.armOpen?"deadline":"ended";if(!await e.ledger.attempts.askToCancel(t,n))return;let r=await ws("cancel",t,e);if(["cancelled","succeeded","failed"].includes(r.state)||t.traits.lookup==="none")return r;let s=await ws("lookUp",t,e);return s.state==="unknown"?r:s}i(Ux,"cancel");async function Xm(t,e,n){if(e===void 0)return"open";if(pt(mt(t),e).kind==="resubmit")return await ef(t,n)?"submitted":"open";let r=ks(await bs(t,e,n));return e.state==="unknown"?"failed":r}i(Xm,"settle");async function ef(t,e){return await co(t,e,e.remainingMs,e.withinMs)!==null}i(ef,"submit");function bs(t,e,n){return uo(t,e,{late:t.late||t.status==="DEFINED"||t.unsent},n)}i(bs,"record");async function ws(t,e,n){let{tenantId:r,runId:o,attemptId:s,idempotencyKey:a}=e,d={tenantId:r,runId:o,attemptId:s,idempotencyKey:a},u=ps(e,n.delegation),{answer:l}=await hs(u,e.service,{kind:t,job:d},n.withinMs(),n);return l}i(ws,"question");function ks(t){return t!==null&&["SUCCEEDED","FAILED","CANCELLED"].includes(t.status)?"ended":"open"}i(ks,"ended");async function Wx(t,e,n){let{ledger:r,settings:o,log:s}=n,{status:a,token:d}=t,u=t.misses+1<3,c=a!=="DEFINED"&&(a!=="SUBMITTING"||t.late)&&!u?"UNCERTAIN":a;try{let m=await r.attempts.change(t,f=>f.status===a&&f.token===d?{status:c,why:e,by:"time",acknowledged:!1,missed:!0,nextLookSeconds:u?Bx:Be(f,c),...u?{}:{attention:e}}:void 0,o);await tt(t,m,n)}catch(m){s.warn("a person could not be asked for",{runId:t.runId,error:v(m).message})}}i(Wx,"askForAPerson");var Bx=30;async function tf(t,e){let{ledger:n,faults:r,log:o,settings:s}=t,{found:a,next:d}=await n.runs.overdue(t.pageSize,e);a.length>0&&await r("deadlines.after-select",`${a.length} overdue`);let[u,l]=[0,0];for(let c of a){let m={code:"deadline",name:"Deadline",message:`the run's deadline ${c.deadlineAt.toISOString()} has passed while it was ${c.status}`};try{let f=await Qt(c,m,t);if(f===void 0){l+=1;continue}let p=await n.runs.failOverdue({...c,...f},s.actsMarginSeconds);if(await r("deadlines.after-failure",c.runId),p===null)continue;u+=1,o.warn("a run's deadline has passed",{runId:c.runId,status:p})}catch(f){l+=1,o.warn("an overdue run could not be ended",{runId:c.runId,error:String(f).slice(0,200)})}}return{counts:{overdue:a.length,ended:u,failed:l},next:d}}i(tf,"endOverdue");async function nf(t,e){let{ledger:n,faults:r,log:o}=t,{found:s,next:a}=await n.deliveries.expiredHolds(t.pageSize,e);if(s.length===0)return{counts:{expired:0,ended:0,failed:0},next:void 0};await r("holds.after-select",`${s.length} expired`);let d=(await Promise.all(s.map(c=>Kx(c,t)))).flat(),u=await n.deliveries.expireHolds(d);await r("holds.after-expiry",`${u.length} ended`);for(let{runId:c,status:m}of u)o.info("a held run was not released in time",{runId:c,status:m});let l=s.length-d.length;return{counts:{expired:s.length,ended:u.length,failed:l},next:a}}i(nf,"expireHolds");async function Kx(t,e){let n={code:"hold_expired",name:"Expired",message:`the run was held until ${t.expiredAt.toISOString()}, and nobody released it`},r=await Qt(t,n,e);return r===void 0?[]:[{...t,...r}]}i(Kx,"withFailure");async function rf(t){let{ledger:e,queue:n,faults:r,log:o}=t,s=await e.deliveries.duePublications(t.pageSize);if(s.length===0)return{due:0,published:0,failed:0};await r("relay.after-select",`${s.length} due`);let{confirmed:a,failed:d}=await n.publish(s);await r("relay.after-publish",`${a.length} confirmed`),await e.deliveries.markPublished(a),await e.deliveries.markPublicationFailed(d);for(let{publication:l,reason:c}of d)o.warn("the relay could not publish a delivery",{runId:l.runId,reason:c});let u=new Set(a.map(l=>`${l.runId}:${l.enqueueSeq}`));for(let l of s)l.publications+1<Jo||!u.has(`${l.runId}:${l.enqueueSeq}`)||await e.runs.raiseAttention(l,"unclaimed: published again and again, and claimed by no worker");return{due:s.length,published:a.length,failed:d.length}}i(rf,"relay");async function of(t,e){let{ledger:n,publisher:r,faults:o,log:s,settings:a}=t,{found:d,next:u}=await n.arms.due(t.pageSize,e);d.length>0&&await o("timers.after-select",`${d.length} due`);let[l,c]=[0,0];for(let{tenantId:m,runId:f,armId:p,lateSeconds:w}of d)try{let g=await n.runs.resumeDue({tenantId:m,runId:f},a.publisherGraceSeconds);if(await o("timers.after-resume",f),g===null)continue;l+=1,s.info("a run was brought back by its timer",{runId:f,armId:p,lateSeconds:Math.round(w)}),await r.publish(g)}catch(g){c+=1,s.warn("a run could not be brought back",{runId:f,error:String(g).slice(0,200)})}return{counts:{due:d.length,resumed:l,failed:c},next:u}}i(of,"wakeDue");async function He(t,e,n,r){let o=e.remainingMs()/2,s={...n},a=0,d;try{for(;e.remainingMs()>Math.max(e.pageBudgetMs,s.failed>0?o:0);){let{counts:u,next:l}=await r(d);if(a+=1,s=Hx(s,u),l===void 0)break;d=l}return{...s,pages:a}}catch(u){return e.log.error("a pass was interrupted",{pass:t,error:String(u).slice(0,300)}),{...s,pages:a,error:u instanceof Error?u.name:"error"}}}i(He,"pass");function Hx(t,e){let n=Object.keys(t);return Object.fromEntries(n.map(r=>[r,t[r]+e[r]]))}i(Hx,"sum");var Jx=2e3;async function Eo(t){let e=Math.max(t.pageBudgetMs,t.settings.ownerDeadlineMs+Jx),n={...t,pageBudgetMs:e};return{reanimation:await He("reanimation",t,{lapsed:0,resumed:0,failing:0,failed:0},r=>ho(t,{after:r})),holds:await He("holds",t,{expired:0,ended:0,failed:0},r=>nf(t,r)),deadlines:await He("deadlines",t,{overdue:0,ended:0,failed:0},r=>tf(t,r)),timers:await He("timers",t,{due:0,resumed:0,failed:0},r=>of(t,r)),consents:await He("consents",n,{due:0,decided:0,failed:0},r=>Qm(t,r)),delegates:await He("delegates",n,{due:0,submitted:0,ended:0,failed:0},r=>Zm(t,r)),containment:await He("containment",t,{due:0,ended:0,failed:0},r=>Ym(t,r)),children:await He("children",t,{due:0,resumed:0,ended:0,failed:0},r=>Vm(t,r)),relay:await He("relay",t,{due:0,published:0,failed:0},async()=>{let r=await rf(t);return{counts:r,next:r.published>0&&r.due>=t.pageSize?!0:void 0}})}}i(Eo,"reconcile");var Vx=3e4;function sf(t){let{hint:e,clock:n,log:r,patienceMs:o=1e3}=t,s,a,d=i(()=>{if(s===void 0)return!1;let l=n.wallMs()-s.wallMs;return l>=0&&Math.max(l,n.monotonicMs()-s.monotonicMs)<Vx},"remembered"),u=i(async()=>{let l={monotonicMs:n.monotonicMs(),wallMs:n.wallMs()};try{await Ze(e.lower(l.wallMs,l.wallMs),o),s=l}catch(c){r.warn("the reconciler's hint could not be lowered; its hourly look stands in for it",{error:String(c).slice(0,200)})}finally{a=void 0}},"lower");return()=>d()?Promise.resolve():a??=u()}i(sf,"createLowering");function af(t,e){return t===void 0||t.dueAtMs<=e||uf(t,e)?{connect:!0}:t.dueAtMs>e+36e5?{connect:!0}:{connect:!1,untilMs:t.dueAtMs}}i(af,"wakeOf");function df(t,e,n){if(t!==void 0&&uf(t,e))return;let r=n.atMs+36e5;if(n.dueInSeconds===null)return r;if(!(n.dueInSeconds<=120))return Math.min(r,n.atMs+Math.floor(n.dueInSeconds*1e3))}i(df,"raisedTo");function uf({openedAtMs:t},e){return t!==void 0&&e-t<12e4}i(uf,"mayBeCommitting");async function lf(t){let{clock:e,hint:n,log:r,hintPatienceMs:o=1500}=t,s=e.wallMs(),a;try{a={state:await Ze(n.read(),o)}}catch(l){r.warn("the hint could not be read: the ledger is looked at",{error:String(l).slice(0,200)})}let d=af(a?.state,s);if(!d.connect)return{skipped:!0,until:new Date(d.untilMs).toISOString()};let u=await Eo(t);return n.keeps&&a!==void 0&&Qx(u)&&await Yx(t,a.state,s),u}i(lf,"reconcileWhenDue");async function Yx({ledger:t,hint:e,clock:n,log:r,hintPatienceMs:o=1500},s,a){try{let d=n.wallMs(),u=df(s,a,{atMs:d,dueInSeconds:await t.nextLook()});if(u===void 0)return;await Ze(e.raise(s?.version,d,u),o)}catch(d){r.warn("the hint could not be raised",{error:String(d).slice(0,200)})}}i(Yx,"raise");function Qx(t){return Object.values(t).every(e=>e.error===void 0&&e.pages>0&&(e.failed??0)===0)}i(Qx,"isWhole");function mf({ledger:t,codec:e,ids:n,publisher:r,faults:o}){return{send:i(async(s,a,d)=>{if(!W(a))throw cf();let{tenantId:u,subject:l}=s,{name:c,payloadText:m,idempotencyKey:f}=d,p=m===void 0?null:await e.encode(m,{tenantId:u,runId:a,kind:"signal"}),w=await t.signals.keep({tenantId:u,runId:a,signalId:n.next(),name:c,idempotencyKey:f??null,requestDigest:await Ae(e,`${JSON.stringify(c)} ${m??""}`),payloadText:p,payloadDigest:p===null?null:L(p),sentBy:l},{publisherGraceSeconds:15});if(w===null)throw cf();switch(await o("signals.after-commit",a),w.kind){case"kept":return w.resumption!==null&&await st(r,w.resumption),{runId:a,signalId:w.signalId,repeated:w.repeated,resumed:w.resumption!==null};case"conflict":throw new b("idempotency_conflict","the idempotency key was used for another signal",{fix:"Use a new key for a new signal, or send the same one again."});case"full":throw new b("too_many_signals",`${vn} signals of the run wait to be taken already`,{fix:"Send it again once the run has taken some.",retryAfterSeconds:60});case"ended":throw new b("run_ended",`the run is ${w.status}: nothing takes a signal any more`,{fix:"Admit a new run."})}},"send")}}i(mf,"createSignals");function cf(){return new b("not_found","there is no such run",{fix:"Check the run id."})}i(cf,"absent");export{ua as core,ff as engine,Pl as ledger};
