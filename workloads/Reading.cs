// How long TraceEvent takes to read a .nettrace file.
//
//   Reading FILE PASSES methods     the methods of its rundown: for each pass one line, METHODS NANOSECONDS
//   Reading FILE PASSES events      all its events, doing nothing with them: EVENTS NANOSECONDS
//
// The file is read into memory first. The first pass includes TraceEvent's own compilation at run time, later ones do not.

using System;
using System.IO;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Parsers;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

static class Reading
{
    static long found;
    static long read;

    static int Main(string[] args)
    {
        if (args.Length != 3 || (args[2] != "methods" && args[2] != "events"))
        {
            Console.Error.WriteLine("usage: Reading FILE.nettrace PASSES methods|events");
            return 64;
        }
        var content = new MemoryStream();
        using (var file = new FileStream(args[0], FileMode.Open, FileAccess.Read))
        {
            file.CopyTo(content);
        }
        for (int pass = int.Parse(args[1]); pass > 0; pass--)
        {
            found = 0;
            long started = DateTime.UtcNow.Ticks;
            using (var source = new EventPipeEventSource(new MemoryStream(content.GetBuffer(), 0, (int)content.Length)))
            {
                if (args[2] == "methods")
                {
                    var rundown = new ClrRundownTraceEventParser(source);
                    rundown.MethodDCStopVerbose += Take;
                    rundown.MethodDCStartVerbose += Take;
                }
                else
                {
                    source.AllEvents += Count;
                }
                source.Process();
            }
            // A tick is 100 ns.
            Console.WriteLine(found + " " + (DateTime.UtcNow.Ticks - started) * 100);
        }
        return found > 0 && read >= 0 ? 0 : 1;
    }

    static void Count(TraceEvent data)
    {
        found++;
    }

    // What a profiler keeps of a method: where it is and what it is called.
    static void Take(MethodLoadUnloadVerboseTraceData data)
    {
        found++;
        read += (long)data.MethodStartAddress + data.MethodSize + data.MethodNamespace.Length + data.MethodName.Length
            + data.MethodSignature.Length;
    }
}
