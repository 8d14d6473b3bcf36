// Makes many small methods at run time, then calls them round and round until it is ended.
//
//   ManyMethods COUNT [SECONDS]          methods of generated types: Made.TypeNNN.MethodNNNNN, in tiers like any other
//   ManyMethods COUNT SECONDS dynamic    DynamicMethods, which have no type, named MethodNNNNN
//
// COUNT is 1 to 50,000. Prints `ready PID` once every method has been compiled and called.

using System;
using System.Diagnostics;
using System.Reflection;
using System.Reflection.Emit;

static class ManyMethods
{
    const int MethodsPerType = 200;

    static int Main(string[] args)
    {
        int count = args.Length > 0 ? int.Parse(args[0]) : 1000;
        double seconds = args.Length > 1 ? double.Parse(args[1]) : 0;
        if (count < 1 || count > 50000)
        {
            Console.Error.WriteLine("ManyMethods: the count must be 1 to 50000, not " + count);
            return 64;
        }
        bool dynamic = args.Length > 2 && args[2] == "dynamic";
        Func<int, int>[] methods = dynamic ? MakeDynamicMethods(count) : MakeTypes(count);
        int sum = CallAll(methods);
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        Console.Out.Flush();

        var clock = Stopwatch.StartNew();
        while (seconds <= 0 || clock.Elapsed.TotalSeconds < seconds)
        {
            sum += CallAll(methods);
        }
        Console.WriteLine("sum " + sum);
        return 0;
    }

    static int CallAll(Func<int, int>[] methods)
    {
        int sum = 0;
        for (int i = 0; i < methods.Length; i++)
        {
            sum = methods[i](sum);
        }
        return sum;
    }

    static Func<int, int>[] MakeDynamicMethods(int count)
    {
        var methods = new Func<int, int>[count];
        for (int i = 0; i < count; i++)
        {
            var method = new DynamicMethod(NameOf(i), typeof(int), new[] { typeof(int) }, typeof(ManyMethods).Module, false);
            EmitBody(method.GetILGenerator(), i);
            methods[i] = (Func<int, int>)method.CreateDelegate(typeof(Func<int, int>));
        }
        return methods;
    }

    static Func<int, int>[] MakeTypes(int count)
    {
        AssemblyBuilder assembly =
            AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Made"), AssemblyBuilderAccess.Run);
        ModuleBuilder module = assembly.DefineDynamicModule("Made");
        var methods = new Func<int, int>[count];
        for (int first = 0; first < count; first += MethodsPerType)
        {
            int end = Math.Min(first + MethodsPerType, count);
            TypeBuilder builder = module.DefineType(
                "Made.Type" + (first / MethodsPerType).ToString("D3"),
                TypeAttributes.Public | TypeAttributes.Abstract | TypeAttributes.Sealed);
            for (int i = first; i < end; i++)
            {
                MethodBuilder method = builder.DefineMethod(
                    NameOf(i),
                    MethodAttributes.Public | MethodAttributes.Static,
                    typeof(int),
                    new[] { typeof(int) });
                EmitBody(method.GetILGenerator(), i);
            }
            Type type = builder.CreateType();
            for (int i = first; i < end; i++)
            {
                methods[i] = (Func<int, int>)type.GetMethod(NameOf(i)).CreateDelegate(typeof(Func<int, int>));
            }
        }
        return methods;
    }

    static string NameOf(int number)
    {
        return "Method" + number.ToString("D5");
    }

    // value * (2 * number + 3) + number
    static void EmitBody(ILGenerator code, int number)
    {
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Ldc_I4, 2 * number + 3);
        code.Emit(OpCodes.Mul);
        code.Emit(OpCodes.Ldc_I4, number);
        code.Emit(OpCodes.Add);
        code.Emit(OpCodes.Ret);
    }
}
